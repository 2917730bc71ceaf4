#include "ir/operators/families.h"

namespace lemma::operators {

std::span<const OperatorRecord> shape() { return {}; }

}  // namespace lemma::operators
