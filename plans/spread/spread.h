#pragma once
// Plans that follow from how some tensors are placed: data parallel where samples are in parts, tensor parallel where weights are,
// ZeRO where the optimizer's state is (as GSPMD does it; Xu and others, 2021).

#include <map>
#include <string>

#include "base/result.h"
#include "plans/partition/partition.h"
#include "plans/partition/strategies.h"

namespace lemma::plans {

/// Inputs, weights and outputs are placed as they are told, by name; a name may have * in it. The others are replicated, but an
/// output "w.next" is placed as the input "w" (docs/gradients.md). Each node takes the way in which its operands move fewest
/// bytes, of these the one in which a device computes least, and of these one that leaves least to be added up. An error: a name that the graph does not have, or a tensor that
/// cannot be placed so.
Result<PlanChoice> spread(const Graph& graph, const Mesh& mesh,
                          const std::map<std::string, Placement, std::less<>>& placements);
/// With strategies of this graph of which some may be known.
Result<PlanChoice> spread(const Graph& graph, const Mesh& mesh,
                          const std::map<std::string, Placement, std::less<>>& placements,
                          Strategies& strategies);

}  // namespace lemma::plans
