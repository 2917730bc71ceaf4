#include "search/schedule.h"

#include <array>
#include <new>

#include "search/choice.h"
#include "search/rewriting_passes.h"
#include "search/saturation_passes.h"

namespace lemma {

namespace {

// ---- When a pass is run

bool something_may_be_left_out(const SearchContext& context, const Candidates& /*all*/) {
  return context.options.left_out != LeftOut::nothing;
}

bool rules_make_recurrences(const SearchContext& context, const Candidates& /*all*/) {
  return context.has_time() && !context.rules.recurrences.recurrence.empty();
}

bool backtracking_is_wanted(const SearchContext& context, const Candidates& /*all*/) {
  return context.options.strategy == Strategy::backtracking;
}

bool rules_fold_weights(const SearchContext& context, const Candidates& all) {
  return context.has_time() && !backtracking_is_wanted(context, all) &&
         !context.rules.folding_weights.compiled.empty();
}

bool rules_refine(const SearchContext& context, const Candidates& all) {
  return context.has_time() && !backtracking_is_wanted(context, all) &&
         !context.rules.refining.compiled.empty();
}

bool whole_is_saturated(const SearchContext& context, const Candidates& /*all*/) {
  return context.options.strategy == Strategy::saturation ||
         context.options.strategy == Strategy::automatic;
}

bool whole_was_cut_off(const SearchContext& context, const Candidates& all) {
  return context.has_time() && whole_is_saturated(context, all) &&
         all.whole != WholeEGraph::complete;
}

/// Whether the graph is so small that the only part would be the whole once more.
bool is_one_part(const SearchContext& context) {
  return context.operators <= context.options.part_size;
}

bool graph_is_small(const SearchContext& context, const Candidates& /*all*/) {
  return context.has_time() && context.options.strategy == Strategy::automatic &&
         is_one_part(context) && context.operators >= few_operators;
}

bool parts_are_saturated(const SearchContext& context, const Candidates& all) {
  return context.options.strategy == Strategy::combined ||
         (context.options.strategy == Strategy::automatic && !is_one_part(context) &&
          all.whole != WholeEGraph::complete);
}

bool proof_is_wanted(const SearchContext& context, const Candidates& all) {
  return context.options.exact_extraction_seconds > 0 && !backtracking_is_wanted(context, all);
}

bool always(const SearchContext& /*context*/, const Candidates& /*all*/) { return true; }

// ---- The table

/// The share of the time for what comes after the last but one, such as running what was found.
constexpr double small_share = 0.1;

constexpr std::array searching = {
    SearchPass{"leaving out", something_may_be_left_out, 1, leave_out},
    SearchPass{"recurrences", rules_make_recurrences, 1, join_recurrences},
    SearchPass{"backtracking", backtracking_is_wanted, 1, backtrack_from_best},
    SearchPass{"constants into operators", rules_fold_weights, 1, fold_weights},
    SearchPass{"directed", rules_refine, 1, refine_best},
    SearchPass{"saturation", whole_is_saturated, 1, saturate_whole},
    SearchPass{"saturation, saving first", whole_was_cut_off, 1, saturate_saving_first},
    SearchPass{"backtracking from the start", graph_is_small, small_share, backtrack_from_start},
    SearchPass{"saturation of parts", parts_are_saturated, 1, saturate_parts},
    SearchPass{"directed", rules_refine, 1, refine_best},
    SearchPass{"proof of the extraction", proof_is_wanted, 1, prove_extraction},
};

constexpr SearchPass choosing = {"choice", always, 1, choose};

}  // namespace

std::span<const SearchPass> searching_passes() { return searching; }

const SearchPass& choosing_pass() { return choosing; }

Result<Candidates> run_passes(SearchContext context, std::span<const SearchPass> passes,
                              Candidates all) {
  constexpr double least_memory = 0.01;
  const Deadline end = context.deadline;
  for (const SearchPass& pass : passes) {
    context.deadline = end;
    if (context.options.is_cancelled()) break;
    if (!pass.when(context, all)) continue;
    context.progress.begin(std::string(pass.name));
    if (pass.share < 1) context.deadline = end.within(pass.share * end.remaining());
    while (context.memory_share > least_memory) {
      try {
        LEMMA_ASSIGN_OR_RETURN(all, pass.run(context, all));
        break;
      } catch (const std::bad_alloc&) {
        context.memory_share /= 4;
      }
    }
  }
  return all;
}

}  // namespace lemma
