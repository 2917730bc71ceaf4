#pragma once
// The order in which nodes can be built.

#include <set>
#include <string>

#include "frontend_onnx/functions.h"

namespace lemma::frontend {

/// Positions of the nodes in an order in which every value is defined before it is used; the order
/// of the file where that is one. Errors name node and value: a name defined twice, a name defined
/// nowhere, a cycle. `given` are the names of inputs and initializers.
Result<std::vector<std::size_t>> order_nodes(const FlatNodes& nodes,
                                             const std::set<std::string>& given);

}  // namespace lemma::frontend
