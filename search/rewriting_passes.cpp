#include "search/rewriting_passes.h"

#include "search/descent.h"
#include "search/fold_recurrences.h"
#include "search/kept_operands.h"
#include "search/saturation_passes.h"
#include "search/simplify_copies.h"
#include "search/walk.h"

namespace lemma {

namespace {

Result<Successor> successor_by(const SearchContext& context,
                               const std::vector<BacktrackingResult::Step>& path, Graph end,
                               std::span<const CompiledRule> rules) {
  LEMMA_ASSIGN_OR_RETURN(Walk walk, walked(path, end,
                                           {rules, context.rules.relevant, context.rules.bitwise,
                                            context.options.explain}));
  return Successor{std::move(end), std::move(walk.derivation), std::move(walk.rules_used),
                   std::move(walk.stages)};
}

/// Takes over what backtracking or descent has found.
Result<void> take_walk(const SearchContext& context, Candidates& all, Candidate& candidate,
                       BacktrackingResult result, std::span<const CompiledRule> rules) {
  LEMMA_ASSIGN_OR_RETURN(Successor successor,
                         successor_by(context, result.path, std::move(result.graph), rules));
  return replace(context, all, candidate, std::move(successor)).map([](bool) {});
}

BacktrackingOptions backtracking_options(const SearchContext& context, std::size_t budget) {
  BacktrackingOptions options;
  options.budget = budget;
  options.memory_limit_bytes = context.scaled(context.options.memory_limit_bytes / 2);
  options.interrupted = context.interrupted();
  return options;
}

/// Backtracks with all rules, equations among them.
Result<void> backtrack_with_all(const SearchContext& context, Candidates& all, Candidate& candidate,
                                std::size_t budget) {
  BacktrackingOptions options = backtracking_options(context, budget);
  options.alpha = context.options.alpha;
  const std::span<const CompiledRule> rules = context.rules.all.compiled;
  const double begin = context.progress.seconds();
  LEMMA_ASSIGN_OR_RETURN(BacktrackingResult result,
                         backtrack(candidate.graph, rules, context.costs, options));
  all.figures.graphs += result.graphs_taken_up;
  for (const CheaperGraph& graph : result.cheaper_graphs)
    note_cheaper_graph(all.figures, {begin + graph.seconds, graph.cost});
  if (all.figures.stop_reason.empty()) all.figures.stop_reason = result.stop_reason;
  return take_walk(context, all, candidate, std::move(result), rules);
}

/// Simplifies what only cuts steps out of tensors and puts them together again.
Result<void> simplify(const SearchContext& context, Candidate& candidate) {
  LEMMA_ASSIGN_OR_RETURN(auto simplified, simplify_copies(candidate.graph));
  if (!simplified) return {};
  std::optional<Derivation> derivation;
  if (context.options.explain) {
    derivation.emplace();
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> terms,
                           derivation->add_graph(simplified->with_both));
    for (const auto& [before, after] : simplified->pairs)
      derivation->add_copies(terms[before.v], terms[after.v]);
  }
  return extend(candidate, std::move(simplified->graph), derivation, {}, {}, context.costs);
}

}  // namespace

Result<Candidates> leave_out(const SearchContext& context, Candidates all) {
  LEMMA_ASSIGN_OR_RETURN(
      WithoutKept without,
      without_kept_operands(all.best.graph, context.options.left_out == LeftOut::bitwise));
  if (without.left_out == 0) return all;
  Successor successor{std::move(without.graph), {}, {}, {}};
  if (context.options.explain) successor.derivation.emplace();
  LEMMA_ASSIGN_OR_RETURN(const bool taken, replace(context, all, all.best, std::move(successor)));
  if (taken) all.figures.left_out = without.left_out;
  all.start = all.best;
  return all;
}

Result<Candidates> join_recurrences(const SearchContext& context, Candidates all) {
  LEMMA_ASSIGN_OR_RETURN(FoldedRecurrences folded,
                         fold_recurrences(context.graph, context.rules.recurrences, context.costs,
                                          context.interrupted()));
  if (folded.path.empty()) return all;
  LEMMA_ASSIGN_OR_RETURN(Successor successor,
                         successor_by(context, folded.path, std::move(folded.graph), folded.rules));
  Candidate candidate = context.original(all);
  LEMMA_RETURN_IF_ERROR(extend(candidate, std::move(successor.graph), successor.derivation,
                               successor.rules_used, std::move(successor.stages), context.costs));
  LEMMA_RETURN_IF_ERROR(simplify(context, candidate));
  note_cheaper_graph(all.figures, {context.progress.seconds(), candidate.cost.seconds});
  context.progress.show(candidate.graph);
  LEMMA_RETURN_IF_ERROR(saturate_from(context, all, candidate, context.rules.all));
  if (context.options.evaluator != nullptr) all.others.add(candidate);
  if (is_better(candidate.cost, all.best.cost)) all.best = std::move(candidate);
  return all;
}

Result<Candidates> backtrack_from_best(const SearchContext& context, Candidates all) {
  LEMMA_RETURN_IF_ERROR(backtrack_with_all(context, all, all.best, context.options.budget));
  return all;
}

Result<Candidates> backtrack_from_start(const SearchContext& context, Candidates all) {
  constexpr std::size_t most_graphs = 300;
  Candidate candidate = all.start;
  LEMMA_RETURN_IF_ERROR(backtrack_with_all(context, all, candidate, most_graphs));
  if (is_better(candidate.cost, all.best.cost)) all.best = std::move(candidate);
  return all;
}

Result<Candidates> fold_weights(const SearchContext& context, Candidates all) {
  DescentOptions options;
  // Cleaning has nothing else to spend its time on; a search would have too little left for what comes after.
  constexpr std::size_t most_when_cleaning = 400'000;
  if (context.options.cleans) options.most_copied_nodes = most_when_cleaning;
  options.interrupted = context.interrupted();
  const std::span<const CompiledRule> rules = context.rules.folding_weights.compiled;
  LEMMA_RETURN_IF_ERROR(take_walk(context, all, all.best,
                                  descend(all.best.graph, rules, context.costs, options), rules));
  return all;
}

Result<Candidates> refine_best(const SearchContext& context, Candidates all) {
  LEMMA_RETURN_IF_ERROR(refine(context, all, all.best));
  return all;
}

Result<void> refine(const SearchContext& context, Candidates& all, Candidate& candidate) {
  constexpr std::size_t most_graphs = 30;
  const std::span<const CompiledRule> rules = context.rules.refining.compiled;
  if (rules.empty() || !context.has_time()) return {};
  BacktrackingOptions options = backtracking_options(context, most_graphs);
  options.alpha = 1.0;
  options.only_refinements = true;
  LEMMA_ASSIGN_OR_RETURN(BacktrackingResult result,
                         backtrack(candidate.graph, rules, context.costs, options));
  return take_walk(context, all, candidate, std::move(result), rules);
}

}  // namespace lemma
