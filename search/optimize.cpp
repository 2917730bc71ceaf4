#include "search/optimize.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "costmodel/operator_count.h"
#include "costmodel/weight_price.h"
#include "facts/part.h"
#include "search/explanation.h"
#include "search/fold_constants.h"
#include "search/schedule.h"

namespace lemma {

namespace {

std::size_t count_operators(const Graph& graph) {
  const std::vector<NodeId> live = graph.live_nodes();
  return static_cast<std::size_t>(std::count_if(live.begin(), live.end(), [&graph](NodeId id) {
    return graph.node(id).kind == NodeKind::operation;
  }));
}

/// Candidates that begin with the original, with the figures so far.
Candidates begun(const SearchContext& context, SearchFigures figures) {
  Candidates all;
  all.others = CandidateList(context.options.candidates);
  all.figures = std::move(figures);
  all.figures.cheaper_graphs.clear();
  all.figures.before = cost_of(context.graph, context.costs);
  all.start = all.best = context.original(all);
  return all;
}

/// Whether the costs are others now, by what was found, and it is not too late to use them.
bool learns_costs(const SearchContext& context, const Candidates& all) {
  const auto is_early = [&context] {
    return context.deadline.remaining() > 0.5 * context.options.time_limit_seconds;
  };
  if (!context.options.learn_costs || !is_early()) return false;
  std::vector<const Graph*> graphs = {&all.best.graph};
  for (const Candidate& candidate : all.others.all()) graphs.push_back(&candidate.graph);
  return context.options.learn_costs(graphs) && is_early();
}

/// The passes that search, begun anew where that taught other costs.
Result<Candidates> searched(const SearchContext& context, SearchFigures figures) {
  constexpr int most_restarts = 2;
  for (int restarts = 0;; ++restarts) {
    LEMMA_ASSIGN_OR_RETURN(Candidates all, run_passes(context, searching_passes(),
                                                      begun(context, std::move(figures))));
    if (restarts == most_restarts || !learns_costs(context, all)) return all;
    figures = std::move(all.figures);
  }
}

bool is_improvement(const SearchContext& context, const Candidates& all) {
  if (context.options.cleans) return true;
  switch (all.preference) {
    case Preference::original: return false;
    case Preference::best: return true;
    case Preference::by_cost: break;
  }
  return is_better(all.figures.after, all.figures.before);
}

/// The best with its constants folded, or the original where that is not wanted or not possible.
Result<SearchResult> folded(const SearchContext& context, Candidates& all) {
  SearchResult result;
  context.progress.begin("folding");
  auto graph = context.options.is_cancelled()
                   ? Result<Graph>(unsupported("the search was cancelled"))
                   : fold_constants(all.best.graph, context.options.fold);
  if (!graph && graph.error().kind == ErrorKind::internal)
    return tl::unexpected(std::move(graph.error()));
  if (graph) {
    result.graph = std::move(*graph);
    context.progress.show(result.graph);
    all.figures.after = cost_of(result.graph, context.costs);
    result.improved = is_improvement(context, all);
  } else {
    result.note = graph.error().message;
  }
  if (!result.improved) {
    all.best = context.original(all);
    LEMMA_ASSIGN_OR_RETURN(result.graph, without_dead_nodes(context.graph));
    all.figures.after = all.figures.before;
  }
  return result;
}

/// Names what the result stands on beside proofs.
void name_unproved(const RuleNames& unproved, SearchResult& result) {
  for (const UsedRule& used : result.rules_used)
    if (unproved.contains(used.name)) result.unproved.push_back(used.name);
  for (const std::string& rule : result.unproved)
    result.explanation.insert(result.explanation.rfind("end\n"),
                              fmt::format("outside rule '{}': it is taken without proof\n", rule));
}

Result<SearchResult> search(const Graph& graph, const RuleDatabase& given,
                            const OperatorCosts& costs, const SearchOptions& options) {
  const Deadline deadline = Deadline::after(options.time_limit_seconds);
  SearchProgress progress(options);
  const RuleNames bitwise = given.bitwise();
  LEMMA_ASSIGN_OR_RETURN(
      const RuleSets rules,
      rule_sets_for(graph, given.substitutions(), costs,
                    {options.runtime, options.operator_set, options.takes_partial}, bitwise,
                    options.has_layouts, options.target_values));
  const SearchContext context{
      graph, costs, options, rules, progress, deadline, count_operators(graph)};
  SearchFigures figures;
  figures.strategy = options.strategy;
  figures.rules_considered = rules.all.rules.size();
  LEMMA_ASSIGN_OR_RETURN(Candidates all, searched(context, std::move(figures)));
  LEMMA_ASSIGN_OR_RETURN(all, run_passes(context, {&choosing_pass(), 1}, std::move(all)));
  LEMMA_ASSIGN_OR_RETURN(SearchResult result, folded(context, all));
  for (const auto& [rule, count] : all.best.rules_used)
    all.figures.rules_used.push_back({rule, count});
  if (options.explain) {
    progress.begin("explanation");
    LEMMA_ASSIGN_OR_RETURN(result.explanation,
                           explain(graph, all.best.stages, all.best.graph, all.best.derivation));
  }
  static_cast<SearchFigures&>(result) = std::move(all.figures);
  name_unproved(given.unproved(), result);
  result.seconds = options.time_limit_seconds - deadline.remaining();
  return result;
}

/// The search without the prices of constants in its figures.
Result<SearchResult> priced_search(const Graph& graph, const RuleDatabase& rules,
                                   const OperatorCosts& costs, const SearchOptions& options) {
  const double price = options.seconds_per_constant_byte;
  if (!options.cleans && price == 0) return search(graph, rules, costs, options);
  const OperatorCosts counts = costs.behind({std::make_shared<const OperatorCount>()});
  const OperatorCosts& without_price = options.cleans ? counts : costs;
  const OperatorCosts with_price =
      without_price.behind({std::make_shared<const WeightPrice>(without_price, price)});
  LEMMA_ASSIGN_OR_RETURN(SearchResult result, search(graph, rules, with_price, options));
  result.before = cost_of(graph, costs);
  result.after = cost_of(result.graph, costs);
  // A smaller file alone is not what was asked for.
  if (!options.cleans && options.evaluator == nullptr)
    result.improved = result.improved && is_better(result.after, result.before);
  return result;
}

}  // namespace

Result<SearchResult> optimize(const Graph& graph, const RuleDatabase& rules,
                              const OperatorCosts& costs, const SearchOptions& options) {
  SearchOptions explained = options;
  // Only explanations tell every rule that is used.
  explained.explain = options.explain || !rules.unproved().empty();
  auto result = priced_search(graph, rules, costs, explained);
  if (const std::string objection = costs.objection(); !objection.empty())
    return bad_input(objection);
  return result;
}

}  // namespace lemma
