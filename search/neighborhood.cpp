#include "search/neighborhood.h"

#include <algorithm>
#include <utility>

#include <absl/hash/hash.h>

#include "egraph/match.h"
#include "egraph/obligations.h"
#include "search/node_costs.h"

namespace lemma {

namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b) * 0x9e3779b97f4a7c15U;  // 2^64 over the golden ratio
  a ^= a >> 29U;
  a *= 0xbf58476d1ce4e5b9U;
  return a ^ a >> 32U;
}

class Explorer {
 public:
  Explorer(const Graph& graph, std::span<const CompiledRule> rules, const OperatorCosts& costs,
           double bound, const NeighborhoodOptions& options)
      : rules_(rules), cost_(node_costs(costs)), bound_(bound), options_(options) {
    const std::vector<ClassId> classes = egraph_.add_graph(graph);
    egraph_.rebuild();  // nothing is equal that was not; what is observed becomes known
    size_ = egraph_.id_count();
    value_of_.resize(size_, ValueId::none());
    for (std::uint32_t i = 0; i < classes.size(); ++i)
      if (!classes[i].is_none() && value_of_[classes[i].v].is_none())
        value_of_[classes[i].v] = ValueId{i};
    grow();
    for (const EGraph::Output& output : egraph_.outputs()) ++uses_[output.value.v];
    // Users have greater numbers. Outputs of a node that nobody uses are there, but use nothing.
    for (std::size_t i = size_; i-- > 0;) {
      if (uses_[i] == 0) continue;
      for (const ClassId child : egraph_.children({static_cast<std::uint32_t>(i)}))
        if (!child.is_none()) ++uses_[child.v];
    }
    find_what_stays_equal();
  }

  Neighborhood run() {
    for (std::uint32_t i = 0; i < size_; ++i) result_.cost += uses_[i] != 0 ? costs_[i] : 0;
    result_.hash = hash_of_outputs();
    bool complete = true;
    // All matches first: adding right sides makes nodes that are not of the graph.
    std::vector<RuleSearch> searches;
    for (std::uint32_t i = 0; i < rules_.size(); ++i)
      if (RuleMatcher::can_match(egraph_, rules_[i]))
        searches.push_back({i, RuleMatcher(rules_[i], true), {}});
    const SearchLimits limits{0, options_.match_limit, [this] { return stop(); }};
    for (RuleSearch& search : searches)
      if (!stop()) search.matcher.find(egraph_, limits, search.matches);
    for (const auto& [rule, matcher, matches] : searches) {
      std::vector<std::shared_ptr<const RuleBindings>> bindings;
      for (std::size_t k = 0; k < matches.size() && complete; ++k) {
        consider(rule, matcher, matches.classes(k), matches.bound(k), bindings);
        complete = (k & 0x3fU) != 0 || !stop();
      }
      if (!complete) break;
    }
    result_.complete = complete && !stop();
    return std::move(result_);
  }

 private:
  struct RuleSearch {
    std::uint32_t rule;
    RuleMatcher matcher;
    MatchList matches;
  };

  bool stop() {
    stopped_ = stopped_ || (options_.interrupted && options_.interrupted());
    return stopped_;
  }

  /// An opaque operator has to be given the same, undefined elements included.
  void find_what_stays_equal() {
    stays_equal_.assign(size_, 0);
    for (std::size_t i = size_; i-- > 0;) {
      const bool is_opaque =
          egraph_.node({static_cast<std::uint32_t>(i)}).kind == ENodeKind::opaque;
      if (uses_[i] == 0 || (!is_opaque && stays_equal_[i] == 0)) continue;
      for (const ClassId child : egraph_.children({static_cast<std::uint32_t>(i)}))
        if (!child.is_none() && (!is_opaque || !is_defined(egraph_, child)))
          stays_equal_[child.v] = 1;
    }
  }

  bool may_be_used(const CompiledRule& rule, std::span<const ClassId> match) const {
    const UnionObligations obligations = obligations_at(egraph_, rule, match);
    if (obligations.make_an_equation()) return !options_.only_refinements;
    const auto left = match.subspan(rule.rule.inputs.size());
    return obligations.make_a_refinement() &&
           std::none_of(left.begin(), left.end(),
                        [this](ClassId id) { return stays_equal_[id.v] != 0; });
  }

  /// Costs and hashes of nodes that are new.
  void grow() {
    const std::size_t count = egraph_.id_count();
    uses_.resize(count, 0);
    newer_.resize(count, 0);
    changed_hash_.resize(count, 0);
    for (auto i = static_cast<std::uint32_t>(costs_.size()); i < count; ++i) {
      costs_.push_back(cost_(egraph_, {i}));
      contents_.push_back(contents({i}));
      hashes_.push_back(hash_of({i}));
    }
  }

  std::uint64_t contents(ENodeId id) {
    const ENode& node = egraph_.node(id);
    const auto kind = static_cast<std::uint64_t>(node.kind);
    switch (node.kind) {
      case ENodeKind::constant: return absl::HashOf(kind, egraph_.constant(node).hash());
      case ENodeKind::input:
      case ENodeKind::opaque:
      case ENodeKind::projection: return absl::HashOf(kind, node.payload);
      case ENodeKind::operation: break;
    }
    return absl::HashOf(kind, node.op.v, egraph_.attributes(node).hash(), node.output_count);
  }

  /// The hash of a node from the node's contents and the hashes of its operands; changed ones where
  /// there are any.
  std::uint64_t hash_of(ENodeId id) const {
    std::uint64_t hash = contents_[id.v];
    for (const ClassId child : egraph_.children(id))
      hash = mix(hash, child.is_none()             ? 0
                       : newer_[child.v] == trial_ ? changed_hash_[child.v]
                                                   : hashes_[child.v]);
    return hash;
  }

  std::uint64_t hash_of_outputs() const {
    std::uint64_t hash = 1;
    for (const EGraph::Output& output : egraph_.outputs())
      hash = mix(hash, newer_[output.value.v] == trial_ ? changed_hash_[output.value.v]
                                                        : hashes_[output.value.v]);
    return hash;
  }

  void consider(std::uint32_t rule, const RuleMatcher& matcher, std::span<const ClassId> match,
                std::uint32_t bound_number,
                std::vector<std::shared_ptr<const RuleBindings>>& bindings) {
    const BoundRule& bound = matcher.bound(bound_number);
    if (!bound.well_typed) return;
    if (!may_be_used(matcher.rule(), match) || !reads_stay_inside(egraph_, bound, match)) return;
    const std::size_t output_count = bound.right.size();
    const auto left = match.last(output_count);
    if (std::all_of(left.begin(), left.end(),
                    [this](ClassId id) { return egraph_.weight_only(id); }))
      return;
    std::vector<ClassId> slots(match.begin(), match.end());
    for (const BuildStep& step : bound.steps) {
      operands_.clear();
      for (const std::uint32_t slot : step.operands)
        operands_.push_back(slot == BuildStep::absent_slot ? ClassId::none() : slots[slot]);
      slots.push_back(egraph_.add(step.form, operands_));
    }
    std::vector<ClassId> right;
    for (const std::uint32_t slot : bound.right) right.push_back(slots[slot]);
    ++trial_;  // no hash is a changed one
    grow();
    if (std::equal(left.begin(), left.end(), right.begin()) || reaches(right, left)) return;
    const double cost = result_.cost + change(left, right);
    if (cost >= bound_) return;
    Neighbor neighbor;
    neighbor.cost = cost;
    neighbor.hash = hash_after(left, right);
    neighbor.rewrite.rule = rule;
    bindings.resize(std::max<std::size_t>(bindings.size(), bound_number + 1));
    if (!bindings[bound_number])
      bindings[bound_number] = std::make_shared<const RuleBindings>(bound.bindings);
    neighbor.rewrite.bindings = bindings[bound_number];
    for (const ClassId id : match.first(match.size() - output_count))
      neighbor.rewrite.inputs.push_back(value_of_[id.v]);
    for (const ClassId id : left) neighbor.rewrite.left.push_back(value_of_[id.v]);
    result_.neighbors.push_back(std::move(neighbor));
  }

  /// Whether the right side would be computed from the left one. Operands have smaller numbers than
  /// users, so most need no walk.
  bool reaches(std::span<const ClassId> right, std::span<const ClassId> left) {
    const ClassId lowest = *std::min_element(left.begin(), left.end());
    ++visit_;
    visited_.resize(egraph_.id_count(), 0);
    std::vector<ClassId> stack(right.begin(), right.end());
    while (!stack.empty()) {
      const ClassId id = stack.back();
      stack.pop_back();
      if (id.is_none() || id < lowest || std::exchange(visited_[id.v], visit_) == visit_) continue;
      if (std::find(left.begin(), left.end(), id) != left.end()) return true;
      const auto children = egraph_.children({id.v});
      stack.insert(stack.end(), children.begin(), children.end());
    }
    return false;
  }

  // ---- Cost: uses are moved from left to right, and moved back

  void set_uses(ClassId id, std::uint32_t uses) {
    undo_.emplace_back(id, uses_[id.v]);
    uses_[id.v] = uses;
  }

  double change(std::span<const ClassId> left, std::span<const ClassId> right) {
    undo_.clear();
    double change = 0;
    for (std::size_t k = 0; k < left.size(); ++k) change += use(right[k], uses_[left[k].v]);
    for (const ClassId id : left) change -= release(id, uses_[id.v]);
    for (std::size_t i = undo_.size(); i-- > 0;) uses_[undo_[i].first.v] = undo_[i].second;
    return change;
  }

  /// The cost of what comes into use.
  double use(ClassId root, std::uint32_t more) {
    double cost = 0;
    std::vector<std::pair<ClassId, std::uint32_t>> stack = {{root, more}};
    while (!stack.empty()) {
      const auto [id, count] = stack.back();
      stack.pop_back();
      if (count == 0) continue;
      const bool is_new = uses_[id.v] == 0;
      set_uses(id, uses_[id.v] + count);
      if (!is_new) continue;
      cost += costs_[id.v];
      for (const ClassId child : egraph_.children({id.v}))
        if (!child.is_none()) stack.emplace_back(child, 1);
    }
    return cost;
  }

  /// The cost of what falls out of use.
  double release(ClassId root, std::uint32_t fewer) {
    double cost = 0;
    std::vector<std::pair<ClassId, std::uint32_t>> stack = {{root, fewer}};
    while (!stack.empty()) {
      const auto [id, count] = stack.back();
      stack.pop_back();
      if (count == 0) continue;
      set_uses(id, uses_[id.v] - count);
      if (uses_[id.v] != 0) continue;
      cost += costs_[id.v];
      for (const ClassId child : egraph_.children({id.v}))
        if (!child.is_none()) stack.emplace_back(child, 1);
    }
    return cost;
  }

  /// The hash of the graph after the exchange: only what is computed from the left side changes.
  std::uint64_t hash_after(std::span<const ClassId> left, std::span<const ClassId> right) {
    ++trial_;
    std::uint32_t first = static_cast<std::uint32_t>(size_);
    for (std::size_t k = 0; k < left.size(); ++k) {
      newer_[left[k].v] = trial_;
      changed_hash_[left[k].v] = hashes_[right[k].v];
      first = std::min(first, left[k].v + 1);
    }
    for (std::uint32_t i = first; i < size_; ++i) {
      if (newer_[i] == trial_) continue;
      const auto children = egraph_.children({i});
      if (std::none_of(children.begin(), children.end(), [this](ClassId child) {
            return !child.is_none() && newer_[child.v] == trial_;
          }))
        continue;
      changed_hash_[i] = hash_of({i});
      newer_[i] = trial_;
    }
    return hash_of_outputs();
  }

  std::span<const CompiledRule> rules_;
  NodeCost cost_;
  double bound_;
  const NeighborhoodOptions& options_;
  EGraph egraph_;
  std::size_t size_ = 0;           // numbers below are of the graph
  std::vector<ValueId> value_of_;  // by class, of the graph
  std::vector<char> stays_equal_;  // by class, of the graph: no refinement may take its place
  std::vector<double> costs_;
  std::vector<std::uint64_t> contents_, hashes_, changed_hash_;
  std::vector<std::uint32_t> uses_, newer_, visited_;
  std::uint32_t trial_ = 1, visit_ = 0;
  std::vector<std::pair<ClassId, std::uint32_t>> undo_;
  absl::InlinedVector<ClassId, 4> operands_;
  bool stopped_ = false;
  Neighborhood result_;
};

}  // namespace

Neighborhood neighborhood(const Graph& graph, std::span<const CompiledRule> rules,
                          const OperatorCosts& costs, double bound,
                          const NeighborhoodOptions& options) {
  return Explorer(graph, rules, costs, bound, options).run();
}

}  // namespace lemma
