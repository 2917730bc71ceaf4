#include "ir/operators/families.h"

namespace lemma::operators {

std::span<const OperatorRecord> logic() { return {}; }

}  // namespace lemma::operators
