#include "backend/lower/grid.h"

#include <algorithm>
#include <set>

#include "backend/cases.h"
#include "backend/lower/tile.h"
#include "backend/nest_algorithm.h"
#include "lowering/merge_axes.h"

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

/// Numbers of elements of the first axes, from none to all of them.
std::vector<std::int64_t> prefixes_of(const LoweredOutput& nest) {
  std::vector<std::int64_t> result = {1};
  for (const lowering::LoopVariable axis : nest.axes)
    result.push_back(result.back() * nest.graph.extent(axis));
  return result;
}

/// The sizes of those axes that can be points of a grid. Axes that are split for other reasons are no axes of it, and
/// elements that are computed together stay in one task.
std::vector<std::int64_t> points_of(const LoweredOutput& nest) {
  if (!lowering::find_parts(nest).empty()) return {1};
  std::vector<std::int64_t> result = prefixes_of(nest);
  if (const auto cases = find_cases(nest)) result.resize(cases->axes.front() + 1);
  if (const auto algorithm = find_nest_algorithm(nest)) {
    const auto first = std::find_if(nest.axes.begin(), nest.axes.end(), [&](LoopVariable axis) {
      return (lowering::joint_axes(*algorithm) & lowering::set_of(axis)) != 0;
    });
    result.resize(static_cast<std::size_t>(first - nest.axes.begin()) + 1);
  }
  return result;
}

/// The most points, of grids made of the first axes, at which a read stays; 1 if at none.
std::int64_t most_points_of(const LoweredOutput& nest, const Term& read,
                            const std::vector<std::int64_t>& points) {
  std::int64_t elements = 1;
  for (const std::int64_t size : nest.graph.inputs()[read.input].sizes) elements *= size;
  for (std::size_t axes = points.size(); axes-- > 1;)
    if (elements % points[axes] == 0 && stays_at_point(nest, read, axes, elements / points[axes]))
      return points[axes];
  return 1;
}

bool contains(const std::vector<std::int64_t>& list, std::int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Result<LoweredOutput> nest_with_grid(const Computation& computation,
                                     const std::vector<std::int64_t>& kept) {
  if (kept.empty())
    return lowering::lower_to_long_loops(computation.definition,
                                         computation.definition.outputs()[computation.output],
                                         computation.views, lowering::Domain::native);
  LEMMA_ASSIGN_OR_RETURN(const LoweredOutput nest, nest_of(computation));
  return lowering::merge_axes(nest, kept);
}

}  // namespace

Result<GridChoices> grid_choices(const Computation& computation) {
  GridChoices result;
  LEMMA_ASSIGN_OR_RETURN(const LoweredOutput nest, nest_of(computation));
  result.operations = computation.own ? computation.own->operations : operation_count(nest);
  for (const ExpressionNode& node : computation.definition.nodes())
    result.has_reduction = result.has_reduction || is_reduction(node.kind);
  result.points = points_of(nest);
  result.has_cases = find_cases(nest).has_value();
  LEMMA_ASSIGN_OR_RETURN(const LoweredOutput merged, lowering::merge_axes(nest));
  result.fixed = prefixes_of(merged);
  for (TermNumber id = 0; id < nest.graph.size(); ++id) {
    const Term& term = nest.graph.term(id);
    if (term.kind != ExpressionKind::read) continue;
    const std::int64_t most = most_points_of(nest, term, result.points);
    const auto [at, is_new] =
        result.most_points.try_emplace(computation.operands[term.input], most);
    if (!is_new) at->second = std::min(at->second, most);
  }
  return result;
}

std::int64_t common_points(const std::vector<const GridChoices*>& members,
                           const std::set<BufferNumber>& made) {
  std::int64_t limit = members.front()->points.back();
  std::set<std::int64_t> fixed;
  for (const GridChoices* member : members) {
    for (const auto& [operand, most] : member->most_points)
      if (made.contains(operand)) limit = std::min(limit, most);
    fixed.insert(member->fixed.begin(), member->fixed.end());
  }
  const std::vector<std::int64_t>& candidates = members.front()->points;
  for (std::size_t i = candidates.size(); i-- > 0;) {
    const std::int64_t points = candidates[i];
    if (points > limit) continue;
    const bool is_common =
        std::all_of(members.begin(), members.end(), [&](const GridChoices* member) {
          return contains(member->points, points) &&
                 std::all_of(fixed.begin(), fixed.upper_bound(points),
                             [member](std::int64_t cut) { return contains(member->points, cut); });
        });
    if (is_common) return points;
  }
  return 1;
}

Result<GridNests> nests_on_grid(const std::vector<const Computation*>& members,
                                std::int64_t points) {
  std::set<std::int64_t> kept;
  for (const Computation* member : members) {
    if (points == 1) continue;
    LEMMA_ASSIGN_OR_RETURN(const LoweredOutput nest, nest_of(*member));
    LEMMA_ASSIGN_OR_RETURN(const LoweredOutput merged, lowering::merge_axes(nest));
    for (const std::int64_t cut : prefixes_of(merged))
      if (cut > 1 && cut < points) kept.insert(cut);
    kept.insert(points);
  }
  GridNests result;
  for (const Computation* member : members) {
    LEMMA_ASSIGN_OR_RETURN(LoweredOutput nest, nest_with_grid(*member, {kept.begin(), kept.end()}));
    const std::vector<std::int64_t> prefixes = prefixes_of(nest);
    const auto end = std::find(prefixes.begin(), prefixes.end(), points);
    if (end == prefixes.end()) return internal_error("computations have no common grid");
    std::vector<std::int64_t> extents;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(end - prefixes.begin()); ++axis)
      extents.push_back(nest.graph.extent(nest.axes[axis]));
    if (!result.nests.empty() && extents != result.extents)
      return internal_error("computations have no common grid");
    result.extents = std::move(extents);
    result.nests.push_back(std::move(nest));
  }
  return result;
}

}  // namespace lemma::backend
