#include "pipeline/trace.h"

#include <fmt/format.h>

#include "ir/graph_text.h"

namespace lemma {

void Trace::add(const std::string& step, const Graph& graph) {
  if (!folder_.is_written()) return;
  const GraphCost cost = cost_of(graph, costs_);
  folder_.add(
      step,
      fmt::format("{} operators, predicted cost {:.3f} us", cost.operators, cost.seconds * 1e6),
      print_graph(graph));
}

}  // namespace lemma
