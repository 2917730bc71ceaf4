#include "backend/emit/guarded_row.h"

#include <algorithm>

#include "lowering/regions.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

class RowFinder {
 public:
  explicit RowFinder(const LoweredOutput& nest) : nest_(nest) {}

  std::optional<GuardedRow> find() {
    constexpr std::int64_t least_elements = 8;
    if (nest_.axes.empty() || nest_.graph.extent(nest_.axes.back()) < least_elements) return {};
    const Term& root = nest_.graph.term(nest_.root);
    if (root.kind != Kind::select || !add_guard(root.operands[0]) || !add_reads(root.operands[1]))
      return std::nullopt;
    row_.value = root.operands[1];
    row_.otherwise = root.operands[2];
    return std::move(row_);
  }

 private:
  bool add(Linear form, bool is_strict) {
    if (!nest_.graph.range(form).is_known()) return false;
    for (const auto& [atom, factor] : form.terms) {
      const auto axis = std::find(nest_.axes.begin(), nest_.axes.end(), atom);
      if (axis == nest_.axes.end()) return false;
      if (axis + 1 == nest_.axes.end() && factor != 1 && factor != -1) return false;
    }
    const auto same = [&](const RowBound& bound) {
      return bound.form == form && bound.is_strict == is_strict;
    };
    if (std::none_of(row_.bounds.begin(), row_.bounds.end(), same))
      row_.bounds.push_back({std::move(form), is_strict});
    return true;
  }

  bool add_guard(TermNumber id) {
    const Term& term = nest_.graph.term(id);
    if (term.kind == Kind::logical_and)
      return add_guard(term.operands[0]) && add_guard(term.operands[1]);
    if (term.kind == Kind::equal || !lowering::compares_linear(nest_.graph, term)) return false;
    return add(lowering::difference(nest_.graph, term), term.kind == Kind::less);
  }

  bool add_reads(TermNumber id) {
    const Term& term = nest_.graph.term(id);
    if (term.kind == Kind::select || term.kind == Kind::logical_and || is_reduction(term.kind))
      return false;
    for (std::size_t axis = 0; term.kind == Kind::read && axis < term.indices.size(); ++axis) {
      if (nest_.graph.is_inside(term, axis)) continue;
      const Linear& index = term.indices[axis];
      const std::int64_t size = nest_.graph.inputs()[term.input].sizes[axis];
      if (!add(lowering::scale(index, -1), false) ||
          !add(lowering::combine(index, Linear::of(size), -1), true))
        return false;
    }
    return std::all_of(term.operands.begin(), term.operands.end(),
                       [this](TermNumber operand) { return add_reads(operand); });
  }

  const LoweredOutput& nest_;
  GuardedRow row_;
};

}  // namespace

std::optional<GuardedRow> find_guarded_row(const LoweredOutput& nest) {
  return RowFinder(nest).find();
}

}  // namespace lemma::backend
