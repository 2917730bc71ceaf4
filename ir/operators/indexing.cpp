#include "ir/operators/families.h"

namespace lemma::operators {

std::span<const OperatorRecord> indexing() { return {}; }

}  // namespace lemma::operators
