#include "egraph/local_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "egraph/extraction.h"

namespace lemma {
namespace {

using Clock = std::chrono::steady_clock;

/// A change under trial: classes in use and the nodes that they are to get. Classes out of use that
/// may come into use thereby get theirs beforehand (`presets`).
struct Move {
  std::vector<std::pair<ClassId, ENodeId>> changes, presets;
};

constexpr std::size_t largest_move = 64;
constexpr std::size_t deepest_tree = 5;
constexpr std::size_t most_tree_steps = 4096;  // classes looked at for one tree, repeated ones too

class LocalSearch {
 public:
  LocalSearch(const EGraph& egraph, std::span<const ClassId> roots,
              const std::vector<double>& node_cost, std::vector<ENodeId> start,
              const LocalSearchLimits& limits)
      : egraph_(egraph),
        roots_(roots.begin(), roots.end()),
        node_cost_(node_cost),
        limits_(limits),
        chosen_(std::move(start)),
        uses_(egraph.id_count(), 0),
        rank_(egraph.id_count(), 0),
        mark_(egraph.id_count(), 0) {
    for (ClassId& root : roots_) root = egraph_.find(root);
  }

  std::vector<ENodeId> run() {
    for (std::size_t pass = 0; pass < limits_.max_passes; ++pass) {
      count_uses();
      refresh_unused();
      rank();
      if (out_of_time() || (!improve() && !improve_trees()) || out_of_time()) break;
    }
    return std::move(chosen_);
  }

 private:
  bool out_of_time() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count() >
           limits_.time_limit_seconds;
  }

  bool in_use(ClassId id) const { return uses_[id.v] != 0; }

  void count_uses() {
    std::fill(uses_.begin(), uses_.end(), 0);
    std::vector<ClassId> entered;
    for (const ClassId root : roots_) use(root, entered);
  }

  /// Counts one more use of a class; if it was not in use, of what it needs too.
  double use(ClassId root, std::vector<ClassId>& entered) {
    double cost = 0;
    std::vector<ClassId> stack = {root};
    while (!stack.empty()) {
      const ClassId id = stack.back();
      stack.pop_back();
      entered.push_back(id);
      if (uses_[id.v]++ != 0) continue;
      const ENodeId node = chosen_[id.v];
      cost += node.is_none() ? std::numeric_limits<double>::infinity() : node_cost_[node.v];
      if (node.is_none()) continue;
      for (const ClassId child : egraph_.children(node))
        if (!child.is_none()) stack.push_back(child);
    }
    return cost;
  }

  /// The opposite; what falls out of use frees what it needs.
  double release(ClassId root, std::vector<ClassId>& left) {
    double cost = 0;
    std::vector<ClassId> stack = {root};
    while (!stack.empty()) {
      const ClassId id = stack.back();
      stack.pop_back();
      left.push_back(id);
      if (--uses_[id.v] != 0) continue;
      const ENodeId node = chosen_[id.v];
      cost += node_cost_[node.v];
      for (const ClassId child : egraph_.children(node))
        if (!child.is_none()) stack.push_back(child);
    }
    return cost;
  }

  /// Classes out of use get the node that is cheapest given what is in use anyway.
  void refresh_unused() {
    std::vector<char> free(uses_.size(), 0);
    for (std::size_t i = 0; i < uses_.size(); ++i) free[i] = uses_[i] != 0 ? 1 : 0;
    const std::vector<ENodeId> trees = cheapest_trees(egraph_, node_cost_, free);
    for (std::size_t i = 0; i < uses_.size(); ++i)
      if (uses_[i] == 0) chosen_[i] = trees[i];
  }

  /// Positions in a topological order of the classes in use; 0 for the others.
  void rank() {
    std::fill(rank_.begin(), rank_.end(), 0);
    const auto order = topological_order(egraph_, roots_, chosen_);
    order_ = order.value_or(std::vector<ClassId>{});
    for (std::uint32_t i = 0; i < order_.size(); ++i) rank_[order_[i].v] = i + 1;
  }

  /// One pass over all classes in use, users before operands.
  bool improve() {
    bool improved = false;
    const std::vector<ClassId> order = order_;
    for (std::size_t i = order.size(); i-- > 0;) {
      if ((i & 0x3fU) == 0 && out_of_time()) break;
      if (in_use(order[i])) improved = improve_class(order[i]) || improved;
    }
    std::vector<char> tried(chosen_.size(), 0);
    for (const ENodeId projection : egraph_.projections()) {
      if (out_of_time()) break;
      const ClassId tuple = egraph_.children(projection)[0];
      if (std::exchange(tried[tuple.v], 1) == 0) improved = improve_tuple(tuple) || improved;
    }
    return improved;
  }

  bool improve_class(ClassId id) {
    bool improved = false;
    for (const ENodeId node : egraph_.nodes(id)) {
      if (!in_use(id)) break;
      if (node == chosen_[id.v] || !std::isfinite(node_cost_[node.v])) continue;
      improved = attempt({{{id, node}}, {}}) || improved;
    }
    return improved;
  }

  /// One pass over all classes in use in which each gets the tree that is cheapest without what only its own node
  /// needs. What that is for a class out of use depends on where it comes into use, so refresh_unused() may not have
  /// found it.
  bool improve_trees() {
    bool improved = false;
    const std::vector<ClassId> order = order_;
    for (std::size_t i = order.size(); i-- > 0;) {
      if (out_of_time()) break;
      if (!in_use(order[i])) continue;
      const std::optional<Move> move = cheapest_without(order[i]);
      improved = (move && attempt(*move)) || improved;
    }
    return improved;
  }

  /// The change of a class to the node with the cheapest tree, `deepest_tree` classes deep at most, among those that
  /// `most_tree_steps` reach. Nothing: that is the node it has.
  std::optional<Move> cheapest_without(ClassId id) {
    std::vector<ClassId> left;
    tree_ = {};
    tree_steps_ = 0;
    root_ = id;
    release_operands(chosen_[id.v], left);
    released_.assign(left.begin(), left.end());
    std::sort(released_.begin(), released_.end());
    const Tree best = cheapest_tree(id, deepest_tree);
    for (const ClassId released : left) ++uses_[released.v];
    if (best.node.is_none() || best.node == chosen_[id.v]) return std::nullopt;
    Move move;
    move.changes.emplace_back(id, best.node);
    add_presets(best.node, move);
    return move;
  }

  /// What a class out of use costs, and the node that this takes.
  struct Tree {
    double cost = std::numeric_limits<double>::infinity();
    ENodeId node = ENodeId::none();
    std::size_t depth = 0;  // that was allowed
    bool open = false;      // being computed
  };

  Tree cheapest_tree(ClassId id, std::size_t depth) {
    Tree& known = tree_[id.v];
    if (known.open || (!known.node.is_none() && known.depth >= depth))
      return known.open ? Tree() : known;
    // Classes without a tree are looked at again for each user: in cycles these are exponentially many.
    if (depth == 0 || tree_steps_++ >= most_tree_steps) return {};
    known = {std::numeric_limits<double>::infinity(), ENodeId::none(), depth, true};
    Tree best;
    const bool is_fixed = id != root_ && std::binary_search(released_.begin(), released_.end(), id);
    for (const ENodeId node : egraph_.nodes(id)) {
      if (is_fixed && node != chosen_[id.v]) continue;
      double cost = node_cost_[node.v];
      for (const ClassId child : egraph_.children(node)) {
        if (!(cost < best.cost)) break;
        if (!child.is_none()) cost += cost_of_operand(egraph_.find(child), depth - 1);
      }
      if (cost < best.cost) best = {cost, node, depth, false};
    }
    return tree_[id.v] = {best.cost, best.node, depth, false};
  }

  /// Nothing for what is in use anyway, if it does not depend on the class under trial.
  double cost_of_operand(ClassId id, std::size_t depth) {
    if (!in_use(id)) return cheapest_tree(id, depth).cost;
    return rank_[id.v] < rank_[root_.v] ? 0 : std::numeric_limits<double>::infinity();
  }

  /// The nodes of a tree's classes that are out of use.
  void add_presets(ENodeId root, Move& move) {
    std::vector<ENodeId> nodes = {root};
    while (!nodes.empty()) {
      const ENodeId node = nodes.back();
      nodes.pop_back();
      for (const ClassId child : egraph_.children(node)) {
        if (child.is_none()) continue;
        const ClassId id = egraph_.find(child);
        const auto entry = tree_.find(id.v);
        if (in_use(id) || is_changed(move, id) || entry == tree_.end() ||
            entry->second.node.is_none())
          continue;
        move.presets.emplace_back(id, entry->second.node);
        nodes.push_back(entry->second.node);
      }
    }
  }

  /// Merged nodes pay only when all their users change over at once: all outputs of a tuple that
  /// are in use. An output out of use may be one that another tuple divides further (the product
  /// of merged operands, merged once more): then the outputs of that one change over too.
  bool improve_tuple(ClassId first) {
    Move move;
    std::vector<ClassId> tuples = {first};
    for (std::size_t i = 0; i < tuples.size() && move.changes.size() < largest_move; ++i)
      for (const ENodeId projection : egraph_.parents(tuples[i])) {
        const ClassId output = egraph_.find(projection.founded());
        if (egraph_.node(projection).kind != ENodeKind::projection || is_changed(move, output))
          continue;
        if (in_use(output)) {
          if (chosen_[output.v] != projection) move.changes.emplace_back(output, projection);
          continue;
        }
        move.presets.emplace_back(output, projection);
        add_dividing_tuples(output, tuples, move);
      }
    if (move.changes.empty() || move.changes.size() + move.presets.size() < 2) return false;
    return attempt(move);
  }

  static bool is_changed(const Move& move, ClassId id) {
    const auto has = [id](const auto& change) { return change.first == id; };
    return std::any_of(move.changes.begin(), move.changes.end(), has) ||
           std::any_of(move.presets.begin(), move.presets.end(), has);
  }

  void add_dividing_tuples(ClassId value, std::vector<ClassId>& tuples, Move& move) const {
    for (const ENodeId user : egraph_.parents(value)) {
      const ClassId tuple = egraph_.find(user.founded());
      if (egraph_.node(user).output_count < 2 || in_use(tuple) || is_changed(move, tuple)) continue;
      if (tuples.size() >= largest_move ||
          std::find(tuples.begin(), tuples.end(), tuple) != tuples.end())
        continue;
      move.presets.emplace_back(tuple, user);
      tuples.push_back(tuple);
    }
  }

  /// Makes the change if it lowers the cost and leads to no cycle.
  bool attempt(const Move& move) {
    std::vector<ENodeId> before, before_presets;
    for (const auto& [id, node] : move.presets)
      before_presets.push_back(std::exchange(chosen_[id.v], node));
    for (const auto& [id, node] : move.changes) before.push_back(chosen_[id.v]);
    // First what comes into use, so that what stays in use is not taken apart.
    std::vector<ClassId> entered, left;
    double added = 0, freed = 0;
    for (const auto& [id, node] : move.changes) added += use_operands(node, entered);
    for (const auto& [id, node] : move.changes) added += node_cost_[node.v];
    for (const ENodeId node : before) freed += node_cost_[node.v];
    // A class whose own node is exchanged must not be taken apart by its former node twice.
    for (const ENodeId node : before) freed += release_operands(node, left);
    const bool still_used =
        std::all_of(move.changes.begin(), move.changes.end(),
                    [this](const auto& change) { return in_use(change.first); });
    if (still_used && freed - added > 1e-12 * (freed + added) && !makes_cycle(move)) {
      bool ranked = move.presets.empty();
      for (const auto& [id, node] : move.changes) {
        chosen_[id.v] = node;
        for (const ClassId child : egraph_.children(node))
          if (!child.is_none())
            ranked = ranked && rank_[child.v] != 0 && rank_[child.v] < rank_[id.v];
      }
      if (!ranked) rank();
      return true;
    }
    for (const ClassId id : left) ++uses_[id.v];
    for (const ClassId id : entered) --uses_[id.v];
    for (std::size_t i = 0; i < move.presets.size(); ++i)
      chosen_[move.presets[i].first.v] = before_presets[i];
    return false;
  }

  double use_operands(ENodeId node, std::vector<ClassId>& entered) {
    double cost = 0;
    for (const ClassId child : egraph_.children(node))
      if (!child.is_none()) cost += use(child, entered);
    return cost;
  }
  double release_operands(ENodeId node, std::vector<ClassId>& left) {
    double cost = 0;
    for (const ClassId child : egraph_.children(node))
      if (!child.is_none()) cost += release(child, left);
    return cost;
  }

  /// Whether a changed class would come to depend on itself. Classes that were ranked below all
  /// changed ones cannot lead back to them.
  bool makes_cycle(const Move& move) {
    ++visit_;
    std::uint32_t lowest = 0xffffffffU;
    for (const auto& [id, node] : move.changes) lowest = std::min(lowest, rank_[id.v]);
    const auto node_after = [&](ClassId id) {
      for (const auto& [changed, node] : move.changes)
        if (changed == id) return node;
      return chosen_[id.v];
    };
    struct Frame {
      ClassId id;
      std::size_t next_child;
    };
    std::vector<Frame> path;
    for (const auto& change : move.changes) {
      if (mark_[change.first.v] >= 2 * visit_) continue;
      path.push_back({change.first, 0});
      mark_[change.first.v] = 2 * visit_;  // even: on the path; odd: done
      while (!path.empty()) {
        Frame& frame = path.back();
        const auto children = egraph_.children(node_after(frame.id));
        if (frame.next_child == children.size()) {
          mark_[frame.id.v] = 2 * visit_ + 1;
          path.pop_back();
          continue;
        }
        const ClassId child = children[frame.next_child++];
        if (child.is_none() || (rank_[child.v] != 0 && rank_[child.v] < lowest)) continue;
        if (mark_[child.v] == 2 * visit_) return true;
        if (mark_[child.v] == 2 * visit_ + 1) continue;
        if (node_after(child).is_none()) return true;
        mark_[child.v] = 2 * visit_;
        path.push_back({child, 0});
      }
    }
    return false;
  }

  const EGraph& egraph_;
  std::vector<ClassId> roots_;
  const std::vector<double>& node_cost_;
  LocalSearchLimits limits_;
  std::vector<ENodeId> chosen_;      // also for classes out of use, for when they come into use
  std::vector<std::uint32_t> uses_;  // by chosen nodes in use, and as roots
  std::vector<std::uint32_t> rank_;
  std::vector<ClassId> order_;
  ClassId root_;                                  // of the tree under trial
  std::vector<ClassId> released_;                 // what only its node needs, sorted
  std::unordered_map<std::uint32_t, Tree> tree_;  // by class
  std::size_t tree_steps_ = 0;
  std::vector<std::uint64_t> mark_;
  std::uint64_t visit_ = 0;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

std::vector<ENodeId> search_locally(const EGraph& egraph, std::span<const ClassId> roots,
                                    const std::vector<double>& node_cost,
                                    std::vector<ENodeId> start, const LocalSearchLimits& limits) {
  return LocalSearch(egraph, roots, node_cost, std::move(start), limits).run();
}

}  // namespace lemma
