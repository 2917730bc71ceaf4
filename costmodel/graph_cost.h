#pragma once
// What a whole graph costs.

#include <span>
#include <vector>

#include "base/result.h"
#include "costmodel/operator_costs.h"
#include "ir/graph.h"

namespace lemma {

/// Totals over a graph. Nodes that depend on constants only are computed when the model is built,
/// not when it runs: they are left out of time, flops and bytes.
struct GraphCost {
  double seconds = 0;           // of one run
  double flops = 0;             // arithmetic operations, as the definitions count them
  double bytes = 0;             // read and written by the operators, each on its own
  std::int64_t operators = 0;   // operations and opaque nodes that run
  std::int64_t parameters = 0;  // elements of constants that running nodes read
  double parameter_bytes = 0;   // of the same constants
  /// How the costs of its operators are known, at worst.
  Provenance provenance = Provenance::measured;
};

/// The sum over the operators.
GraphCost cost_of(const Graph& graph, const OperatorCosts& costs);

/// The key of an operation; inputs that depend on constants alone count as constant.
CostKey cost_key(const Graph& graph, const Node& node, const std::vector<bool>& weight_only,
                 const OperatorCosts& costs);

/// The keys of all operations that run, each key once; the most expensive first.
std::vector<CostKey> distinct_keys(std::span<const Graph* const> graphs,
                                   const OperatorCosts& costs);

/// Prices whole graphs, or times them. The search hands it the few graphs that it found the cheapest
/// as sums of their operators.
class GraphEvaluator {
 public:
  GraphEvaluator() = default;
  GraphEvaluator(const GraphEvaluator&) = delete;
  GraphEvaluator& operator=(const GraphEvaluator&) = delete;
  virtual ~GraphEvaluator() = default;

  /// One cost for each graph. What depends on constants alone may not be folded in them yet.
  virtual Result<std::vector<Cost>> evaluate(std::span<const Graph* const> graphs) const = 0;
  /// How many graphs like this one it has the time to compare with the candidates, in order to tell which
  /// rewrites pay. None: sums say it already.
  virtual std::size_t affordable(const GraphCost& /*original*/) const { return 0; }
};

/// The evaluator that is always there: cost_of().
class SumOfOperators : public GraphEvaluator {
 public:
  explicit SumOfOperators(const OperatorCosts& costs) : costs_(costs) {}  // `costs` must outlive it
  Result<std::vector<Cost>> evaluate(std::span<const Graph* const> graphs) const override;

 private:
  const OperatorCosts& costs_;
};

}  // namespace lemma
