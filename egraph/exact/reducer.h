#pragma once
// Makes a problem smaller and keeps an optimum: what cannot be chosen or need not be is removed,
// what must be chosen is chosen, and choices that go together are merged. A selection of what
// remains is turned into one of the original problem by expand().
//
// Sources of the ideas: the preprocessing of the extraction gym's integer program (self-loops,
// subsumed nodes, single parents, implied roots); dominators; the rest follows from the definition.

#include <optional>

#include "egraph/exact/outcome.h"

namespace lemma::exact {

class Reducer {
 public:
  explicit Reducer(const Problem& problem);

  /// Reduces the problem to a fixed point. With a bound, only selections that cost less than it are
  /// kept, and none may remain; it counts the cost of the whole original problem. At the limit it
  /// stops short of the fixed point.
  void run(std::optional<Cost> upper_bound = std::nullopt, const Limit& limit = {});

  /// No selection remains.
  bool infeasible() const { return infeasible_; }
  /// The cost of what is chosen already, to be added to that of a selection of problem().
  Cost fixed_cost() const { return fixed_cost_; }

  /// What remains, numbered without gaps, in order of class and node. Nothing is left to choose if
  /// it has no roots.
  Problem problem() const;
  /// The choice in the original problem, by class. It may choose more than the roots need, never in
  /// circles where the roots reach.
  std::vector<std::uint32_t> expand(const Selection& selection) const;

 private:
  /// What a node stands for: one original node, or two such sets.
  struct Origin {
    std::uint32_t first = none;
    std::uint32_t second = none;  // none: `first` is an original node
  };

  // Bookkeeping (reducer.cpp).
  void touch(std::uint32_t id);
  void kill_node(std::uint32_t number);
  void kill_class(std::uint32_t id);
  const std::vector<std::uint32_t>& live_nodes(std::uint32_t id);
  const std::vector<std::uint32_t>& live_users(std::uint32_t id);
  void make_root(std::uint32_t id);
  void add_children(std::uint32_t number, const std::vector<std::uint32_t>& more);
  void remove_child(std::uint32_t number, std::uint32_t child);
  std::uint32_t both(std::uint32_t a, std::uint32_t b);

  // Rules about one class (contract.cpp). True if the class is gone.
  void contract_all(const Limit& limit);
  bool contract(std::uint32_t id);
  bool choose_free_leaf(std::uint32_t id);
  void pull_up(std::uint32_t id);
  bool choose_only_node(std::uint32_t id);
  bool inline_into_user(std::uint32_t id);
  void subsume(std::uint32_t id);

  // Rules about the whole (reducer.cpp, prune.cpp). True if something changed.
  void drop_unusable();
  void drop_unreachable();
  bool prune(std::optional<Cost> upper_bound, const Limit& limit);
  bool separate_forced();

  const Problem* original_;
  bool monotone_;  // no negative costs
  bool infeasible_ = false;
  bool changed_ = false;
  Cost fixed_cost_ = 0;
  std::vector<Node> nodes_;  // children sorted, each once
  std::vector<char> node_alive_, class_alive_, is_root_, queued_;
  std::vector<std::vector<std::uint32_t>> nodes_of_, users_of_;  // may hold what is gone
  std::vector<std::uint32_t> origin_of_;                         // by node
  std::vector<Origin> origins_;
  std::vector<std::uint32_t> fixed_origins_;
  std::vector<std::uint32_t> queue_;
};

/// The classes that the roots reach, operands before users where there is no cycle.
std::vector<std::uint32_t> postorder(const Problem& problem,
                                     const std::vector<std::vector<std::uint32_t>>& nodes_of);

}  // namespace lemma::exact
