#include "backend/emit/dealt_terms.h"

#include <algorithm>

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

/// Whether terms of a reduction are read along the last axis, and all that depend on it are side by side along it.
bool has_elements_side_by_side(const LoweredOutput& nest) {
  constexpr std::int64_t least_elements = 8;
  if (nest.axes.empty()) return false;
  const LoopVariable lane = nest.axes.back();
  if (nest.graph.extent(lane) < least_elements) return false;
  lowering::VariableSet axes = 0;
  for (const LoopVariable axis : nest.axes) axes |= lowering::set_of(axis);
  bool is_read = false;
  for (TermNumber id = 0; id < nest.graph.size(); ++id) {
    const Term& term = nest.graph.term(id);
    if (term.kind != ExpressionKind::read || (term.depends & lowering::set_of(lane)) == 0 ||
        (term.depends & ~axes) == 0)
      continue;
    if (nest.graph.address(term).coefficient(lane) != 1) return false;
    is_read = true;
  }
  return is_read;
}

}  // namespace

bool deals_out_terms(const LoweredOutput& nest) {
  std::int64_t elements = 1;
  for (const std::int64_t size : nest.sizes) elements *= size;
  return lowering::reduces_along_lanes(nest.graph, elements) && !has_elements_side_by_side(nest);
}

}  // namespace lemma::backend
