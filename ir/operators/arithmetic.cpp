#include "ir/operators/families.h"

namespace lemma::operators {

std::span<const OperatorRecord> arithmetic() { return {}; }

}  // namespace lemma::operators
