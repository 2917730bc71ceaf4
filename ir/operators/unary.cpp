#include "ir/operators/families.h"

namespace lemma::operators {

std::span<const OperatorRecord> unary() { return {}; }

}  // namespace lemma::operators
