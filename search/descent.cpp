#include "search/descent.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "costmodel/graph_cost.h"

namespace lemma {
namespace {

/// The nodes that a left side matched. Nodes without operands are left out: many places share numbers.
std::set<NodeId> matched_nodes(const Graph& graph, const Rewrite& rewrite) {
  std::set<NodeId> result;
  std::vector<ValueId> stack = rewrite.left;
  while (!stack.empty()) {
    const ValueId value = stack.back();
    stack.pop_back();
    if (std::find(rewrite.inputs.begin(), rewrite.inputs.end(), value) != rewrite.inputs.end())
      continue;
    const NodeId id = graph.producer(value);
    const Node& node = graph.node(id);
    if (node.inputs.empty() || !result.insert(id).second) continue;
    for (const ValueId input : node.inputs)
      if (!input.is_none()) stack.push_back(input);
  }
  return result;
}

/// The values of one graph in a later one; none() for those that are gone.
class ValueMap {
 public:
  explicit ValueMap(std::size_t count) : values_(count) {
    for (std::uint32_t i = 0; i < count; ++i) values_[i] = {i};
  }
  void go_on(const std::vector<ValueId>& next) {
    for (ValueId& value : values_)
      if (!value.is_none()) value = next[value.v];
  }
  bool has(ValueId value) const { return value.is_none() || !values_[value.v].is_none(); }
  ValueId operator()(ValueId value) const { return value.is_none() ? value : values_[value.v]; }

 private:
  std::vector<ValueId> values_;
};

class Descent {
 public:
  Descent(std::span<const CompiledRule> rules, const OperatorCosts& costs,
          const DescentOptions& options)
      : rules_(rules), costs_(costs), options_(options) {}

  BacktrackingResult run(const Graph& original) {
    graph_ = std::make_shared<const Graph>(original);
    result_.stop_reason = "rounds";
    for (std::size_t i = 0; i < options_.most_rounds; ++i) {
      const bool changed = round();
      if (i == 0) result_.cost_before = cost_;
      if (options_.interrupted && options_.interrupted())
        result_.stop_reason = "time";
      else if (!changed)
        result_.stop_reason = "exhausted";
      else
        continue;
      break;
    }
    result_.graph = *graph_;
    result_.cost = cost_of(*graph_, costs_).seconds;
    result_.graphs_taken_up = result_.path.size() + 1;
    return std::move(result_);
  }

 private:
  /// Whether something changed.
  bool round() {
    Neighborhood reachable =
        neighborhood(*graph_, rules_, costs_, std::numeric_limits<double>::infinity(),
                     {options_.match_limit, false, options_.interrupted});
    cost_ = reachable.cost;
    constexpr double rounding = 1e-9;
    std::erase_if(reachable.neighbors, [&](const Neighbor& neighbor) {
      return neighbor.cost >= (1 - rounding) * reachable.cost;
    });
    if (result_.path.empty() && is_too_much(reachable.neighbors.size())) return false;
    std::stable_sort(reachable.neighbors.begin(), reachable.neighbors.end(),
                     [](const Neighbor& a, const Neighbor& b) { return a.cost < b.cost; });
    const std::shared_ptr<const Graph> start = graph_;
    ValueMap now(start->value_count());
    std::set<NodeId> taken;
    bool changed = false;
    for (const Neighbor& neighbor : reachable.neighbors) {
      const std::set<NodeId> matched = matched_nodes(*start, neighbor.rewrite);
      const auto is_taken = [&](NodeId id) {
        return taken.contains(id) || !now.has(start->node(id).output());
      };
      if (std::any_of(matched.begin(), matched.end(), is_taken)) continue;
      if (!apply(neighbor.rewrite, now)) continue;
      changed = true;
      taken.insert(matched.begin(), matched.end());
    }
    return changed;
  }

  /// Each use copies the graph, and so does its explanation.
  bool is_too_much(std::size_t uses) const {
    return uses * graph_->node_count() > options_.most_copied_nodes;
  }

  /// Operands may have been exchanged for equal ones. False if something is gone, or if the right side needs what it
  /// would replace by now.
  bool apply(Rewrite rewrite, ValueMap& now) {
    for (std::vector<ValueId>* values : {&rewrite.inputs, &rewrite.left})
      for (ValueId& value : *values) {
        if (!now.has(value)) return false;
        value = now(value);
      }
    std::vector<ValueId> next;
    auto changed = rewritten(*graph_, rules_[rewrite.rule], rewrite, &next);
    if (!changed) return false;
    result_.path.push_back({graph_, std::move(rewrite)});
    graph_ = std::make_shared<const Graph>(std::move(*changed));
    now.go_on(next);
    return true;
  }

  std::span<const CompiledRule> rules_;
  const OperatorCosts& costs_;
  const DescentOptions& options_;
  std::shared_ptr<const Graph> graph_;
  double cost_ = 0;  // of the graph that the last round began at
  BacktrackingResult result_;
};

}  // namespace

BacktrackingResult descend(const Graph& graph, std::span<const CompiledRule> rules,
                           const OperatorCosts& costs, const DescentOptions& options) {
  return Descent(rules, costs, options).run(graph);
}

}  // namespace lemma
