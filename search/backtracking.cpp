#include "search/backtracking.h"

#include <algorithm>
#include <chrono>
#include <set>

#include <absl/container/flat_hash_set.h>

namespace lemma {

namespace {

class Backtracking {
 public:
  Backtracking(std::span<const CompiledRule> rules, const OperatorCosts& costs,
               const BacktrackingOptions& options)
      : rules_(rules), costs_(costs), options_(options) {}

  Result<BacktrackingResult> run(const Graph& original) {
    BacktrackingResult result;
    states_.push_back({std::make_shared<const Graph>(original), none, {}});
    expand(0);
    result.cost_before = best_cost_;
    result.stop_reason = "exhausted";
    while (!waiting_.empty()) {
      if (const auto reason = limit_reached(); !reason.empty()) {
        result.stop_reason = reason;
        break;
      }
      const Waiting next = std::move(waiting_.extract(waiting_.begin()).value());
      if (next.cost >= options_.alpha * best_cost_) break;  // and so do all the others
      const State& parent = states_[next.parent];
      LEMMA_ASSIGN_OR_RETURN(Graph graph,
                             rewritten(*parent.graph, rules_[next.rewrite.rule], next.rewrite));
      states_.push_back(
          {std::make_shared<const Graph>(std::move(graph)), next.parent, next.rewrite});
      expand(states_.size() - 1);
    }
    result.graph = *states_[best_].graph;
    result.cost = best_cost_;
    for (std::size_t i = best_; states_[i].parent != none; i = states_[i].parent)
      result.path.push_back({states_[states_[i].parent].graph, states_[i].rewrite});
    std::reverse(result.path.begin(), result.path.end());
    result.graphs_taken_up = states_.size();
    result.graphs_met = met_.size();
    result.cheaper_graphs = std::move(cheaper_graphs_);
    return result;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct State {
    std::shared_ptr<const Graph> graph;
    std::size_t parent = none;
    Rewrite rewrite;  // that made it of its parent
  };
  struct Waiting {
    double cost = 0;
    std::size_t number = 0;  // among equal costs, the first met
    std::size_t parent = 0;
    Rewrite rewrite;
    bool operator<(const Waiting& other) const {
      return cost != other.cost ? cost < other.cost : number < other.number;
    }
  };

  std::string_view limit_reached() const {
    if (states_.size() >= options_.budget) return "budget";
    if (bytes_ >= options_.memory_limit_bytes) return "memory";
    if (options_.interrupted && options_.interrupted()) return "time";
    return {};
  }

  void expand(std::size_t number) {
    const Graph& graph = *states_[number].graph;
    bytes_ += graph.node_count() * bytes_of_node;
    const double bound =
        number == 0 ? std::numeric_limits<double>::infinity() : options_.alpha * best_cost_;
    Neighborhood reachable =
        neighborhood(graph, rules_, costs_, bound,
                     {options_.match_limit, options_.only_refinements, options_.interrupted});
    if (number == 0 || reachable.cost < best_cost_) {
      best_cost_ = reachable.cost;
      best_ = number;
      cheaper_graphs_.push_back(
          {std::chrono::duration<double>(Clock::now() - begin_).count(), best_cost_});
    }
    met_.insert(reachable.hash);
    for (Neighbor& neighbor : reachable.neighbors) {
      if (neighbor.cost >= options_.alpha * best_cost_ || !met_.insert(neighbor.hash).second)
        continue;
      bytes_ += bytes_of_waiting;
      waiting_.insert({neighbor.cost, number_++, number, std::move(neighbor.rewrite)});
    }
    while (waiting_.size() > options_.most_waiting) {
      waiting_.erase(std::prev(waiting_.end()));
      bytes_ -= bytes_of_waiting;
    }
  }

  static constexpr std::size_t bytes_of_node = 400, bytes_of_waiting = 200;  // roughly

  std::span<const CompiledRule> rules_;
  const OperatorCosts& costs_;
  const BacktrackingOptions& options_;
  std::vector<State> states_;
  std::set<Waiting> waiting_;
  absl::flat_hash_set<std::uint64_t> met_;
  std::size_t number_ = 0, best_ = 0, bytes_ = 0;
  double best_cost_ = 0;
  Clock::time_point begin_ = Clock::now();
  std::vector<CheaperGraph> cheaper_graphs_;
};

}  // namespace

Result<BacktrackingResult> backtrack(const Graph& graph, std::span<const CompiledRule> rules,
                                     const OperatorCosts& costs,
                                     const BacktrackingOptions& options) {
  return Backtracking(rules, costs, options).run(graph);
}

}  // namespace lemma
