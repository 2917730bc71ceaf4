#include <algorithm>
#include <optional>

#include "backend_cuda/lower/tile.h"

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

}  // namespace

TaskAccess access_of(const TaskOperator& op, const Kernel& kernel, std::int64_t task) {
  TaskAccess access;
  const Box box = kernel.box(task);
  access.write = region_of(op.result(), kernel.extents, box);
  for (const Phase& phase : op.body.phases) {
    const Bounds bounds(phase.nest, box);
    const std::vector<bool> is_used = used_terms(phase.nest);
    for (TermNumber id = 0; id < phase.nest.graph.size(); ++id) {
      const Term& term = phase.nest.graph.term(id);
      if (!is_used[id] || term.kind != Kind::read) continue;
      const std::uint32_t argument = phase.operands[term.input];
      if (argument >= op.arguments.size()) continue;  // shared
      const std::vector<std::int64_t>& sizes = phase.nest.graph.inputs()[term.input].sizes;
      const auto part = box_of(term, bounds, sizes);
      if (!part) continue;
      Region region = region_of(op.arguments[argument], sizes, *part);
      if (std::find(access.reads.begin(), access.reads.end(), region) == access.reads.end())
        access.reads.push_back(std::move(region));
    }
  }
  return access;
}

}  // namespace lemma::backend
