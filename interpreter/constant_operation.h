#pragma once
// One operation on constants.

#include <span>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma::interpreter {

/// The outputs of an operation on these contents of its operands, computed in their own types; null stands for
/// an absent operand. An error: it cannot be computed.
Result<std::vector<Constant>> evaluate_on_constants(const Node& node,
                                                    std::span<const Constant* const> operands);

}  // namespace lemma::interpreter
