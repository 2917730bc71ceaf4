#include "ir/operators/families.h"

namespace lemma::operators {

std::span<const OperatorRecord> pooling() { return {}; }

}  // namespace lemma::operators
