#include "ir/operators/families.h"

namespace lemma::operators {

std::span<const OperatorRecord> reduction() { return {}; }

}  // namespace lemma::operators
