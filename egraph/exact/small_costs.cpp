#include "egraph/exact/small_costs.h"

#include <algorithm>

namespace lemma::exact {

std::optional<SmallCosts> small_costs(const Problem& problem, int bits) {
  SmallCosts result;
  Cost divisor = 0;
  for (const Node& node : problem.nodes) {
    Cost a = divisor, b = node.cost < 0 ? -node.cost : node.cost;
    while (b != 0) {
      const Cost rest = a % b;
      a = b;
      b = rest;
    }
    divisor = a;
  }
  if (divisor != 0) result.unit = divisor;
  const Cost limit = static_cast<Cost>(1) << bits;
  for (const Node& node : problem.nodes) {
    const Cost small = node.cost / result.unit;
    if (small >= limit || small <= -limit) return std::nullopt;
    result.of_node.push_back(static_cast<std::int64_t>(small));
  }
  return result;
}

SmallCosts rounded_costs(const Problem& problem, int bits) {
  if (auto exact = small_costs(problem, bits)) return std::move(*exact);
  Cost most = 0;
  for (const Node& node : problem.nodes)
    most = std::max(most, node.cost < 0 ? -node.cost : node.cost);
  SmallCosts result;
  result.exact = false;
  result.unit = (most >> (bits - 1)) + 1;
  for (const Node& node : problem.nodes)
    result.of_node.push_back(static_cast<std::int64_t>(divide_down(node.cost, result.unit)));
  return result;
}

Cost divide_down(Cost cost, Cost unit) {
  const Cost quotient = cost / unit;
  return quotient * unit > cost ? quotient - 1 : quotient;
}

}  // namespace lemma::exact
