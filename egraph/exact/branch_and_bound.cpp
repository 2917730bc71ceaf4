#include "egraph/exact/branch_and_bound.h"

#include <algorithm>

#include "egraph/exact/parts.h"
#include "egraph/exact/reducer.h"

namespace lemma::exact {

namespace {

/// Decisions below each other; each is a few stack frames.
constexpr std::size_t deepest = 400;

struct Decision {
  std::uint32_t id = none;
  bool forced = false;  // a class that is chosen in any case: decide about one of its nodes
};

class Search {
 public:
  explicit Search(const BranchOptions& options) : options_(options) {}

  /// The cheapest selection below the bound; nothing if there is none, or effort ran out.
  std::optional<Selection> solve(const Problem& problem, Cost upper_bound, std::size_t depth);
  bool gave_up() const { return gave_up_; }

 private:
  std::optional<Selection> solve_parts(const Problem& problem, Cost upper_bound, std::size_t depth);
  std::optional<Selection> branch(const Problem& problem, Cost upper_bound, std::size_t depth);

  BranchOptions options_;
  std::size_t decisions_ = 0;
  bool gave_up_ = false;
};

/// Makes the node of no use to any selection: it needs itself.
void forbid(Node& node) { node.children.push_back(node.owner); }

std::vector<std::size_t> count_user_classes(const Problem& problem) {
  std::vector<std::uint32_t> last(problem.class_count, none);
  std::vector<std::size_t> count(problem.class_count, 0);
  std::vector<std::uint32_t> order(problem.nodes.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return problem.nodes[a].owner < problem.nodes[b].owner;
  });
  for (const std::uint32_t i : order)
    for (const std::uint32_t child : problem.nodes[i].children)
      if (last[child] != problem.nodes[i].owner) {
        last[child] = problem.nodes[i].owner;
        ++count[child];
      }
  return count;
}

/// The decision about what costs much and is of use to many: with it settled the rest is less
/// entangled.
Decision choose_decision(const Problem& problem) {
  const auto nodes_of = problem.nodes_by_class();
  const auto users = count_user_classes(problem);
  // A class that nothing needs must not be chosen for its negative cost: such problems are decided
  // from the roots down.
  const bool roots_only = problem.has_negative_costs();
  std::vector<char> is_root(problem.class_count, 0);
  for (const std::uint32_t root : problem.roots) is_root[root] = 1;
  Decision best;
  double best_score = -1;
  for (std::uint32_t id = 0; id < problem.class_count; ++id) {
    if (nodes_of[id].empty() || (roots_only && is_root[id] == 0)) continue;
    double least = 1e300;
    for (const std::uint32_t number : nodes_of[id])
      least = std::min(least, std::abs(static_cast<double>(problem.nodes[number].cost)));
    const double score = is_root[id] != 0 ? (nodes_of[id].size() > 1 ? 0.0 : -1.0)
                                          : (least + 1e-9) * static_cast<double>(users[id]);
    if (score <= best_score) continue;
    best_score = score;
    best = {id, is_root[id] != 0};
  }
  return best;
}

std::optional<Selection> Search::solve(const Problem& problem, Cost upper_bound,
                                       std::size_t depth) {
  if (gave_up_) return std::nullopt;
  Reducer reducer(problem);
  reducer.run(upper_bound, options_.limit);
  if (reducer.infeasible()) return std::nullopt;
  const Problem rest = reducer.problem();
  const auto selection = solve_parts(rest, upper_bound - reducer.fixed_cost(), depth);
  if (!selection) return std::nullopt;
  auto result = finished_selection(problem, reducer.expand(*selection));
  if (result && result->cost < upper_bound) return result;
  return std::nullopt;
}

std::optional<Selection> Search::solve_parts(const Problem& problem, Cost upper_bound,
                                             std::size_t depth) {
  Selection whole;
  whole.node_of.assign(problem.class_count, none);
  if (problem.roots.empty()) return upper_bound > 0 ? std::optional(whole) : std::nullopt;
  const auto parts = independent_parts(problem);
  if (parts.size() == 1) return branch(problem, upper_bound, depth);
  // Of each part the optimum is needed, whatever the others cost. (With costs of 0 or more, a part
  // may be abandoned where it alone exceeds the bound.)
  const bool monotone = !problem.has_negative_costs();
  Cost spent = 0;
  for (const Part& part : parts) {
    Cost bound = no_cost_limit;
    if (monotone) bound = upper_bound - spent;
    const auto selection = solve(part.problem, bound, depth + 1);
    if (!selection) return std::nullopt;
    insert(part, *selection, whole);
    spent += selection->cost;
  }
  return whole;
}

std::optional<Selection> Search::branch(const Problem& problem, Cost upper_bound,
                                        std::size_t depth) {
  if (++decisions_ > options_.most_decisions || depth > deepest || options_.limit.reached()) {
    gave_up_ = true;
    return std::nullopt;
  }
  const Decision decision = choose_decision(problem);
  if (decision.id == none) {
    // One node each: nothing is left to decide.
    std::vector<std::uint32_t> choice(problem.class_count, none);
    for (std::uint32_t i = 0; i < problem.nodes.size(); ++i) choice[problem.nodes[i].owner] = i;
    auto only = finished_selection(problem, choice);
    if (only && only->cost < upper_bound) return only;
    return std::nullopt;
  }
  std::optional<Selection> best;
  const auto attempt = [&](const Problem& side) {
    auto selection = solve(side, upper_bound, depth + 1);
    if (!selection) return;
    // The sides have the same nodes, so the selection is one of the problem as well.
    selection = finished_selection(problem, selection->node_of);
    if (!selection || selection->cost >= upper_bound) return;
    upper_bound = selection->cost;
    best = std::move(selection);
  };
  Problem without = problem;
  if (decision.forced) {
    // Its cheapest node, or any other.
    std::uint32_t cheapest = none;
    for (std::uint32_t i = 0; i < problem.nodes.size(); ++i)
      if (problem.nodes[i].owner == decision.id &&
          (cheapest == none || problem.nodes[i].cost < problem.nodes[cheapest].cost))
        cheapest = i;
    Problem with = problem;
    for (std::uint32_t i = 0; i < with.nodes.size(); ++i)
      if (with.nodes[i].owner == decision.id && i != cheapest) forbid(with.nodes[i]);
    forbid(without.nodes[cheapest]);
    attempt(with);
  } else {
    Problem with = problem;
    with.roots.push_back(decision.id);
    for (Node& node : without.nodes)
      if (node.owner == decision.id) forbid(node);
    attempt(with);
  }
  attempt(without);
  return best;
}

}  // namespace

Outcome branch_and_bound(const Problem& problem, Cost upper_bound, const BranchOptions& options) {
  Search search(options);
  Outcome outcome;
  outcome.best = search.solve(problem, upper_bound, 0);
  outcome.proved = !search.gave_up();
  if (outcome.proved) outcome.lower_bound = outcome.best ? outcome.best->cost : upper_bound;
  return outcome;
}

}  // namespace lemma::exact
