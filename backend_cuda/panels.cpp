#include "backend_cuda/panels.h"

namespace lemma::backend {

bool is_panel_sum(const lowering::LoweredOutput& nest, const lowering::Term& term) {
  if (term.kind != ExpressionKind::sum || term.lanes != lowering::LaneKind::f32) return false;
  std::int64_t terms = 1, axes = 0;
  for (const lowering::LoopVariable v : term.bound) {
    terms *= nest.graph.extent(v);
    axes += nest.graph.extent(v) > 1 ? 1 : 0;
  }
  return terms >= least_panel_terms && axes > 1;
}

}  // namespace lemma::backend
