#include "backend_cuda/panels.h"

namespace lemma::backend {

bool is_panel_sum(const lowering::LoweredOutput& nest, const lowering::Term& term) {
  if (term.kind != ExpressionKind::sum || term.lanes != lowering::LaneKind::f32) return false;
  std::int64_t terms = 1;
  for (const lowering::LoopVariable v : term.bound) terms *= nest.graph.extent(v);
  return terms >= least_panel_terms;
}

}  // namespace lemma::backend
