#include "ir/operators/families.h"

namespace lemma::operators {

std::span<const OperatorRecord> normalization() { return {}; }

}  // namespace lemma::operators
