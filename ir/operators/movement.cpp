#include "ir/operators/families.h"

namespace lemma::operators {

std::span<const OperatorRecord> movement() { return {}; }

}  // namespace lemma::operators
