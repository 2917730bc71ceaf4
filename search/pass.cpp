#include "search/pass.h"

#include <algorithm>

namespace lemma {

std::size_t SearchContext::scaled(std::size_t limit) const {
  return std::max<std::size_t>(1,
                               static_cast<std::size_t>(memory_share * static_cast<double>(limit)));
}

LayoutPrice SearchContext::layout_price() const {
  return [this, seconds = layout_seconds()](const Graph& laid) {
    return seconds_laid_out(laid, rules.layouts, costs, seconds);
  };
}

void note_cheaper_graph(SearchFigures& figures, CheaperGraph graph) {
  const double before =
      figures.cheaper_graphs.empty() ? figures.before.seconds : figures.cheaper_graphs.back().cost;
  if (graph.cost < before) figures.cheaper_graphs.push_back(graph);
}

Result<bool> replace(const SearchContext& context, Candidates& all, Candidate& candidate,
                     Successor successor) {
  if (!is_better(cost_of(successor.graph, context.costs), candidate.cost)) return false;
  LEMMA_RETURN_IF_ERROR(extend(candidate, std::move(successor.graph), successor.derivation,
                               successor.rules_used, std::move(successor.stages), context.costs));
  note_cheaper_graph(all.figures, {context.progress.seconds(), candidate.cost.seconds});
  context.progress.show(candidate.graph);
  if (context.options.evaluator != nullptr) all.others.add(candidate);
  return true;
}

}  // namespace lemma
