#include "backend/panels.h"

#include "backend/pairs.h"

namespace lemma::backend {

bool is_panel_sum(const lowering::LoweredOutput& nest, lowering::TermNumber id,
                  std::int64_t least_terms) {
  const lowering::Term& term = nest.graph.term(id);
  const bool is_float =
      term.lanes == lowering::LaneKind::f32 || term.lanes == lowering::LaneKind::field;
  if (term.kind != ExpressionKind::sum || !(is_float || find_pair_sum(nest, id))) return false;
  std::int64_t terms = 1;
  for (const lowering::LoopVariable v : term.bound) terms *= nest.graph.extent(v);
  return terms >= least_terms;
}

}  // namespace lemma::backend
