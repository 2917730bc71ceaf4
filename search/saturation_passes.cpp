#include "search/saturation_passes.h"

#include <algorithm>

#include <fmt/format.h>

#include "search/part_pass.h"
#include "search/rewriting_passes.h"

namespace lemma {

namespace {

std::size_t default_node_limit(std::size_t operators) {
  if (operators < few_operators) return std::max<std::size_t>(150 * operators, 500);
  // What is still extracted exactly may as well be had.
  return std::clamp<std::size_t>(250 * operators, std::min<std::size_t>(400 * operators, 10'000),
                                 40'000);
}

RoundLimits round_limits(const SearchContext& context) {
  const SearchOptions& options = context.options;
  RoundLimits limits;
  limits.node_limit = context.scaled(
      options.node_limit != 0 ? options.node_limit : default_node_limit(context.operators));
  limits.iterations = options.iterations;
  limits.memory_limit_bytes = context.scaled(options.memory_limit_bytes / 2);
  limits.saturation_seconds = std::max(0.02, 0.5 * context.deadline.remaining());
  limits.extraction_seconds = std::max(0.02, 0.25 * context.deadline.remaining());
  limits.cancelled = options.cancelled;
  if (options.evaluator != nullptr) limits.alternative_overhead = options.alternative_overhead;
  return limits;
}

/// The limits of a round over the whole graph: parts end in plain layouts.
RoundLimits limits_with_layouts(const SearchContext& context) {
  RoundLimits limits = round_limits(context);
  if (context.rules.layouts.compiled.empty()) return limits;
  limits.layouts = &context.rules.layouts;
  limits.layout_seconds = context.layout_seconds();
  return limits;
}

/// Keeps the graph that costs least with moves between layouts.
Result<void> take_laid_out(const SearchContext& context, Candidates& all, Round& round,
                           const Candidate& candidate) {
  LEMMA_ASSIGN_OR_RETURN(const bool is_improvement,
                         improves(all.laid_out, round, context.graph, context.layout_price()));
  if (!is_improvement) return {};
  Candidate other = candidate;
  LEMMA_RETURN_IF_ERROR(extend(other, std::move(round.laid_out->graph), round.derivation,
                               round.laid_out->rules_used, {}, context.costs));
  all.laid_out = {std::move(other), round.laid_out_seconds};
  return {};
}

/// Makes the result of a round the candidate; false if it is no cheaper.
Result<bool> take(const SearchContext& context, Candidates& all, Candidate& candidate,
                  Round round) {
  SearchFigures& figures = all.figures;
  ++figures.rounds;
  figures.egraph_nodes = std::max(figures.egraph_nodes, round.nodes);
  if (figures.stop_reason.empty()) figures.stop_reason = name(round.stop);
  const bool met_no_limit =
      round.stop == StopReason::saturated || round.stop == StopReason::iterations;
  all.whole = met_no_limit ? WholeEGraph::complete : WholeEGraph::cut_off;
  if (round.alternative) {
    Candidate other = candidate;
    LEMMA_RETURN_IF_ERROR(extend(other, std::move(round.alternative->graph), round.derivation,
                                 round.alternative->rules_used, {}, context.costs));
    all.others.add(other);
  }
  LEMMA_RETURN_IF_ERROR(take_laid_out(context, all, round, candidate));
  if (!round.is_cheaper()) return false;
  return replace(
      context, all, candidate,
      {std::move(round.graph), std::move(round.derivation), std::move(round.rules_used), {}});
}

}  // namespace

Result<void> saturate_from(const SearchContext& context, Candidates& all, Candidate& candidate,
                           const RuleSet& rules) {
  for (std::size_t i = 0; i < context.options.rounds && context.has_time(); ++i) {
    context.progress.begin(fmt::format("saturation with {} rules, round {}", rules.compiled.size(),
                                       all.figures.rounds + 1));
    LEMMA_ASSIGN_OR_RETURN(Round round, saturate_and_extract(candidate.graph, rules, context.costs,
                                                             i == 0 ? limits_with_layouts(context)
                                                                    : round_limits(context),
                                                             context.options.explain));
    LEMMA_ASSIGN_OR_RETURN(const bool cheaper, take(context, all, candidate, std::move(round)));
    if (!cheaper) break;
  }
  return {};
}

Result<Candidates> saturate_whole(const SearchContext& context, Candidates all) {
  all.figures.strategy = Strategy::saturation;
  LEMMA_RETURN_IF_ERROR(saturate_from(context, all, all.best, context.rules.all));
  return all;
}

Result<Candidates> saturate_saving_first(const SearchContext& context, Candidates all) {
  Candidate second = all.start;
  LEMMA_RETURN_IF_ERROR(refine(context, all, second));
  LEMMA_RETURN_IF_ERROR(saturate_from(context, all, second, context.rules.saving));
  LEMMA_RETURN_IF_ERROR(saturate_from(context, all, second, context.rules.all));
  all.whole = WholeEGraph::cut_off;
  if (is_better(second.cost, all.best.cost)) all.best = std::move(second);
  return all;
}

Result<Candidates> saturate_parts(const SearchContext& context, Candidates all) {
  const SearchOptions& options = context.options;
  SearchFigures& figures = all.figures;
  figures.strategy = Strategy::combined;
  KnownParts known;
  std::size_t fruitless = 0;
  for (std::size_t pass = 0; fruitless < 2 && context.has_time(); ++pass) {
    context.progress.begin(fmt::format("saturation of parts, pass {}", pass + 1));
    PartPassOptions of_parts;
    of_parts.partition.size = options.part_size;
    of_parts.partition.offset = pass % 2 == 0 ? 0 : options.part_size / 2;
    of_parts.round = round_limits(context);
    of_parts.round.node_limit = context.scaled(options.part_node_limit);
    of_parts.threads = options.fold.threads;
    of_parts.explain = options.explain;
    LEMMA_ASSIGN_OR_RETURN(PartPass result,
                           improve_parts(all.best.graph, context.rules.all, context.costs, of_parts,
                                         context.deadline, known));
    figures.passes = pass + 1;
    figures.parts = std::max(figures.parts, result.parts);
    figures.egraph_nodes = std::max(figures.egraph_nodes, result.largest_nodes);
    bool cheaper = false;
    if (result.changed) {
      LEMMA_ASSIGN_OR_RETURN(cheaper, replace(context, all, all.best,
                                              {std::move(result.graph),
                                               std::move(result.derivation),
                                               std::move(result.rules_used),
                                               {}}));
    }
    fruitless = cheaper ? 0 : fruitless + 1;
  }
  if (figures.stop_reason.empty()) figures.stop_reason = fruitless < 2 ? "time" : "fixed point";
  return all;
}

Result<Candidates> prove_extraction(const SearchContext& context, Candidates all) {
  RoundLimits limits = round_limits(context);
  limits.proof_seconds =
      std::min(context.options.exact_extraction_seconds, 0.9 * context.deadline.remaining());
  if (limits.proof_seconds <= 0) return all;
  LEMMA_ASSIGN_OR_RETURN(
      Round round, saturate_and_extract(all.best.graph, context.rules.all, context.costs, limits,
                                        context.options.explain));
  all.figures.extraction = round.extraction;
  LEMMA_RETURN_IF_ERROR(take(context, all, all.best, std::move(round)));
  return all;
}

}  // namespace lemma
