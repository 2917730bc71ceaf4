#include "backend_cuda/blocks/shared_terms.h"

namespace lemma::backend {

namespace {

using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

/// Whether lanes that go through the last variable of the reduction read neighbouring elements, where threads with
/// neighbouring elements of the result would read some that are far from each other.
bool reads_along(const LoweredOutput& nest, const Term& reduction) {
  const lowering::TermGraph& graph = nest.graph;
  for (TermNumber id = 0; id < graph.size(); ++id) {
    const Term& read = graph.term(id);
    if (read.kind != ExpressionKind::read) continue;
    const lowering::Linear address = graph.address(read);
    if (address.coefficient(reduction.bound.back()) != 1) continue;
    const std::int64_t across = nest.axes.empty() ? 0 : address.coefficient(nest.axes.back());
    if (across != 0 && across != 1) return true;
  }
  return false;
}

}  // namespace

bool is_long_reduction(const LoweredOutput& nest, const Term& term) {
  return is_reduction(term.kind) && nest.graph.extent(term.bound.back()) >= cuda_warp_size;
}

bool shares_terms(const LoweredOutput& nest, std::int64_t elements, std::int64_t group_threads) {
  for (TermNumber id = 0; id < nest.graph.size(); ++id) {
    const Term& term = nest.graph.term(id);
    if (is_long_reduction(nest, term) && (elements < group_threads || reads_along(nest, term)))
      return true;
  }
  return false;
}

}  // namespace lemma::backend
