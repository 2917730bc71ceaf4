#include "ir/operators/families.h"

namespace lemma::operators {

std::span<const OperatorRecord> resampling() { return {}; }

}  // namespace lemma::operators
