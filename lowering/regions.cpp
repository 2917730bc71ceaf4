#include "lowering/regions.h"

#include <algorithm>

namespace lemma::lowering {

using Kind = ExpressionKind;

Linear difference(const TermGraph& graph, const Term& comparison) {
  return combine(graph.form(comparison.operands[0]), graph.form(comparison.operands[1]), -1);
}

/// Whether a comparison is one of linear forms: only where the difference cannot wrap, and where it
/// is the same for all lanes or moves along them with loop variables alone.
bool compares_linear(const TermGraph& graph, const Term& term) {
  if (term.kind != Kind::less && term.kind != Kind::less_equal && term.kind != Kind::equal)
    return false;
  constexpr std::int64_t limit = std::int64_t{1} << 60;
  for (const TermNumber operand : term.operands)
    if (graph.term(operand).type != DataType::i64 ||
        !graph.term(operand).range.within(-limit, limit))
      return false;
  for (const auto& [atom, factor] : difference(graph, term).terms)
    if (atom >= first_term_atom) return false;
  return true;
}

namespace {

class Planner {
 public:
  Planner(const TermGraph& graph, bool reduce_along_lanes)
      : graph_(graph), reduce_along_lanes_(reduce_along_lanes), home_(graph.size(), no_region) {
    plan_.regions.emplace_back();
    plan_.below.resize(graph.size());
  }

  Regions plan(TermNumber root) {
    home_[root] = 0;
    // Users have higher ids than what they use: all uses are known when a term is reached.
    for (TermNumber id = root + 1; id-- > 0;) {
      if (home_[id] == no_region) continue;
      home_[id] = hoisted(graph_.term(id), home_[id]);
      plan_.regions[home_[id]].terms.push_back(id);
      visit(id, home_[id]);
    }
    for (Region& region : plan_.regions) std::reverse(region.terms.begin(), region.terms.end());
    return std::move(plan_);
  }

 private:
  RegionId add_region(RegionId parent) {
    Region region;
    region.parent = parent;
    region.depth = plan_.regions[parent].depth + 1;
    plan_.regions.push_back(std::move(region));
    return static_cast<RegionId>(plan_.regions.size() - 1);
  }

  RegionId common(RegionId a, RegionId b) const {
    while (a != b) {
      RegionId& deeper = plan_.regions[a].depth >= plan_.regions[b].depth ? a : b;
      deeper = plan_.regions[deeper].parent;
    }
    return a;
  }

  void use(TermNumber id, RegionId where) {
    home_[id] = home_[id] == no_region ? where : common(home_[id], where);
  }
  void use(const Linear& form, RegionId where) {
    for (const auto& [atom, factor] : form.terms)
      if (atom >= first_term_atom) use(atom - first_term_atom, where);
  }

  /// The region in front of every loop whose variable the term does not depend on, also if that
  /// means to compute it in vain when a guard excludes it: the loop runs more often.
  RegionId hoisted(const Term& term, RegionId region) const {
    RegionId best = region;
    for (RegionId r = region; r != 0; r = plan_.regions[r].parent) {
      const Region& at = plan_.regions[r];
      if (!at.is_loop) continue;
      if ((term.depends & set_of(at.variable)) != 0) break;
      best = at.parent;
    }
    return best;
  }

  void visit(TermNumber id, RegionId region) {
    const Term& term = graph_.term(id);
    std::vector<RegionId>& below = plan_.below[id];
    use(term.linear, region);
    for (const Linear& index : term.indices) use(index, region);
    if (compares_linear(graph_, term)) return;
    if (term.kind == Kind::select) {
      use(term.operands[0], region);
      for (std::size_t i = 1; i < 3; ++i) {
        below.push_back(add_region(region));
        use(term.operands[i], below.back());
      }
    } else if (term.kind == Kind::logical_and) {
      use(term.operands[0], region);
      below.push_back(add_region(region));
      use(term.operands[1], below.back());
    } else if (is_reduction(term.kind)) {
      visit_reduction(term, region, below);
    } else {
      for (const TermNumber operand : term.operands) use(operand, region);
    }
  }

  void visit_reduction(const Term& term, RegionId region, std::vector<RegionId>& below) {
    bool inside_lanes = false;
    for (RegionId r = region; r != 0; r = plan_.regions[r].parent)
      inside_lanes = inside_lanes || plan_.regions[r].along_lanes;
    for (const LoopVariable v : term.bound) {
      below.push_back(add_region(below.empty() ? region : below.back()));
      plan_.regions[below.back()].is_loop = true;
      plan_.regions[below.back()].variable = v;
    }
    if (reduce_along_lanes_ && !inside_lanes) {
      plan_.regions[below.back()].along_lanes = true;
      plan_.lane_variables |= set_of(term.bound.back());
    }
    use(term.operands[0], below.back());
  }

  const TermGraph& graph_;
  bool reduce_along_lanes_;
  std::vector<RegionId> home_;
  Regions plan_;
};

}  // namespace

Regions plan_regions(const TermGraph& graph, TermNumber root, bool reduce_along_lanes) {
  return Planner(graph, reduce_along_lanes).plan(root);
}

}  // namespace lemma::lowering
