#include <algorithm>
#include <optional>

#include "backend/lower/tile.h"

namespace lemma::backend {

namespace {

using lowering::Interval;
using lowering::Linear;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;  // first and end, by axis

/// A box of a tensor with these sizes as a region; whole inner axes become one.
Region region_of(BufferNumber buffer, const std::vector<std::int64_t>& sizes, const Box& box) {
  Region region;
  region.buffer = buffer;
  std::int64_t stride = 1;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    const auto [first, end] = box[axis];
    region.base += first * stride;
    if (end - first > 1) {
      const bool continues =
          !region.axes.empty() && region.axes.back().extent * region.axes.back().stride == stride;
      if (continues)
        region.axes.back().extent *= end - first;
      else
        region.axes.push_back({end - first, stride});
    }
    stride *= sizes[axis];
  }
  std::reverse(region.axes.begin(), region.axes.end());
  return region;
}

/// Bounds of terms while the variables of the axes stay inside a box.
class Bounds {
 public:
  Bounds(const LoweredOutput& nest, const Box& box)
      : graph_(nest.graph), known_(nest.graph.size()), variables_(nest.graph.variable_count()) {
    for (lowering::LoopVariable v = 0; v < variables_.size(); ++v)
      variables_[v] = {0, std::max<std::int64_t>(0, graph_.extent(v) - 1)};
    for (std::size_t i = 0; i < nest.axes.size(); ++i)
      variables_[nest.axes[i]] = {box[i].first, box[i].second - 1};
    // Operands have lower numbers than the terms that use them.
    for (TermNumber id = 0; id <= nest.root; ++id) known_[id] = bounds(graph_.term(id));
  }

  Interval of(const Linear& form) const {
    Interval sum = {form.constant, form.constant};
    for (const auto& [atom, factor] : form.terms)
      sum = lowering::add(sum, lowering::scale(of_atom(atom), factor));
    return sum.is_known() ? lowering::intersect(sum, graph_.range(form)) : graph_.range(form);
  }

 private:
  Interval of_atom(lowering::AtomId atom) const {
    return atom < lowering::first_term_atom ? variables_[atom]
                                            : known_[atom - lowering::first_term_atom];
  }

  Interval bounds(const Term& term) const {
    if (term.type != DataType::i64) return {};
    Interval result;
    if (term.divisor > 0) {
      const Interval dividend = of(term.linear);
      if (dividend.is_known())
        result = {lowering::floor_divide(dividend.low, term.divisor),
                  lowering::floor_divide(dividend.high, term.divisor)};
    } else if (term.kind == Kind::index) {
      result = of(term.linear);
    } else if (term.kind == Kind::select) {
      const Interval a = known_[term.operands[1]], b = known_[term.operands[2]];
      if (a.is_known() && b.is_known()) result = {std::min(a.low, b.low), std::max(a.high, b.high)};
    }
    return lowering::intersect(result, term.range);
  }

  const lowering::TermGraph& graph_;
  std::vector<Interval> known_;  // by term
  std::vector<Interval> variables_;
};

/// The part of the tensor that a read may touch; nothing if that is none of it.
std::optional<Box> box_of(const Term& read, const Bounds& bounds,
                          const std::vector<std::int64_t>& sizes) {
  Box box;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const Interval index = lowering::intersect(bounds.of(read.indices[axis]), {0, sizes[axis] - 1});
    if (index.low > index.high) return std::nullopt;
    box.emplace_back(index.low, index.high + 1);
  }
  return box;
}

std::vector<bool> used_terms(const LoweredOutput& nest) {
  std::vector<bool> is_used(nest.graph.size(), false);
  const auto use = [&is_used](const Linear& form) {
    for (const auto& [atom, factor] : form.terms)
      if (atom >= lowering::first_term_atom) is_used[atom - lowering::first_term_atom] = true;
  };
  is_used[nest.root] = true;
  for (TermNumber id = nest.root + 1; id-- > 0;) {
    if (!is_used[id]) continue;
    const Term& term = nest.graph.term(id);
    for (const TermNumber operand : term.operands) is_used[operand] = true;
    use(term.linear);
    for (const Linear& index : term.indices) use(index);
  }
  return is_used;
}

std::vector<std::int64_t> extents_of(const LoweredOutput& nest) {
  std::vector<std::int64_t> extents;
  for (const lowering::LoopVariable axis : nest.axes) extents.push_back(nest.graph.extent(axis));
  return extents;
}

/// A box of the grid with all of the axes that are not the grid's.
Box whole_points(const LoweredOutput& nest, Box box) {
  for (std::size_t axis = box.size(); axis < nest.axes.size(); ++axis)
    box.emplace_back(0, nest.graph.extent(nest.axes[axis]));
  return box;
}

void add_once(std::vector<Region>& regions, Region region) {
  if (std::find(regions.begin(), regions.end(), region) == regions.end())
    regions.push_back(std::move(region));
}

/// Calls visit(read, sizes of what is read, region) for the reads of a phase at the points of a box.
template <typename Visit>
void visit_reads(const Phase& phase, const Box& box, const Visit& visit) {
  const Bounds bounds(phase.nest, box);
  const std::vector<bool> is_used = used_terms(phase.nest);
  for (TermNumber id = 0; id < phase.nest.graph.size(); ++id) {
    const Term& term = phase.nest.graph.term(id);
    if (!is_used[id] || term.kind != Kind::read) continue;
    const std::vector<std::int64_t>& sizes = phase.nest.graph.inputs()[term.input].sizes;
    if (const auto part = box_of(term, bounds, sizes)) visit(term, region_of(0, sizes, *part));
  }
}

std::int64_t element_count(const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

/// What a phase takes from earlier ones. Point by point, a read that may leave its point counts as one of everything.
PhaseAccess phase_access(const TaskOperator& op, const Phase& phase, const Kernel& kernel,
                         Box box) {
  const bool by_points = op.body.stitching == Stitching::warp;
  if (by_points)
    for (auto& [first, end] : box) end = first + 1;
  const Box whole = whole_points(phase.nest, box);
  PhaseAccess access;
  access.write = {phase.result, region_of(0, extents_of(phase.nest), whole)};
  const std::int64_t points = element_count(kernel.extents);
  visit_reads(phase, whole, [&](const Term& read, Region region) {
    const std::uint32_t argument = phase.operands[read.input];
    if (argument < op.operands().size()) return;
    const std::vector<std::int64_t>& sizes = phase.nest.graph.inputs()[read.input].sizes;
    const std::int64_t elements = element_count(sizes);
    if (by_points && !stays_at_point(phase.nest, read, kernel.extents.size(), elements / points))
      region = {0, 0, {{elements, 1}}};
    access.reads.push_back({argument, std::move(region)});
  });
  return access;
}

}  // namespace

bool stays_at_point(const LoweredOutput& nest, const Term& read, std::size_t grid_axes,
                    std::int64_t elements_per_point) {
  Linear rest = nest.graph.address(read);
  std::int64_t stride = elements_per_point;
  for (std::size_t axis = grid_axes; axis-- > 0;) {
    rest = lowering::combine(rest, Linear::atom(nest.axes[axis]), -stride);
    stride *= nest.graph.extent(nest.axes[axis]);
  }
  const lowering::VariableSet depends = nest.graph.depends(rest);
  for (std::size_t axis = 0; axis < grid_axes; ++axis)
    if ((depends & lowering::set_of(nest.axes[axis])) != 0) return false;
  return nest.graph.range(rest).within(0, elements_per_point - 1);
}

TaskAccess access_of(const TaskOperator& op, const Kernel& kernel, std::int64_t task) {
  TaskAccess access;
  const Box box = kernel.box(task);
  access.writes.resize(op.result_count);
  for (const Phase& phase : op.body.phases) {
    const Box whole = whole_points(phase.nest, box);
    if (phase.result < op.arguments.size())
      access.writes[phase.result - op.operands().size()] =
          region_of(op.arguments[phase.result], extents_of(phase.nest), whole);
    visit_reads(phase, whole, [&](const Term& read, Region region) {
      const std::uint32_t argument = phase.operands[read.input];
      if (argument >= op.operands().size()) return;
      region.buffer = op.arguments[argument];
      add_once(access.reads, std::move(region));
    });
    if (op.is_stitched()) access.phases.push_back(phase_access(op, phase, kernel, box));
  }
  return access;
}

}  // namespace lemma::backend
