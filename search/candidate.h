#pragma once
// Graphs that the search found, and why each equals the original.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/graph_cost.h"
#include "costmodel/operator_costs.h"
#include "ir/graph.h"
#include "search/derivation.h"

namespace lemma {

/// A graph that refines the original, and why.
struct Candidate {
  Graph graph;  // constants are not folded
  GraphCost cost;
  Derivation derivation;
  std::map<std::string, std::size_t> rules_used;
  /// Graphs on the way, before and after each use of a rule that is no equation there.
  std::vector<Graph> stages;
};

/// Whether a cost is better by more than rounding; of two that cost the same, the one with fewer
/// operators.
bool is_better(const GraphCost& cost, const GraphCost& than);

/// Goes on from a candidate to another graph that equals it, by way of stages. Without a derivation it is not recorded why.
Result<void> extend(Candidate& candidate, Graph graph, std::optional<Derivation>& derivation,
                    const std::map<std::string, std::size_t>& rules_used, std::vector<Graph> stages,
                    const OperatorCosts& costs);

/// The cheapest distinct ones, the cheapest first; of equal ones that which was found first.
class CandidateList {
 public:
  CandidateList() = default;
  explicit CandidateList(std::size_t most) : most_(most) {}

  void add(const Candidate& candidate);
  bool empty() const { return candidates_.empty(); }
  const std::vector<Candidate>& all() const { return candidates_; }
  /// Leaves the list empty.
  std::vector<Candidate> take() { return std::move(candidates_); }

 private:
  std::size_t most_ = 0;
  std::vector<Candidate> candidates_;
};

}  // namespace lemma
