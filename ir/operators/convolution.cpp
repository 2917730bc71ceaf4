#include "ir/operators/families.h"

namespace lemma::operators {

std::span<const OperatorRecord> convolution() { return {}; }

}  // namespace lemma::operators
