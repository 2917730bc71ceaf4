#include "search/choice.h"

#include <fmt/format.h>

#include "search/evaluated_choice.h"

namespace lemma {

Result<Candidates> choose(const SearchContext& context, Candidates all) {
  const Candidate original = context.original(all);
  if (context.options.evaluator == nullptr) {
    if (context.rules.layouts.compiled.empty()) return all;
    LEMMA_ASSIGN_OR_RETURN(const bool is_chosen, choose_laid_out(std::move(all.laid_out), original,
                                                                 all.best, context.layout_price()));
    if (is_chosen) all.preference = Preference::best;
    return all;
  }
  all.preference = Preference::original;
  std::vector<Candidate> candidates = all.others.take();
  LEMMA_RETURN_IF_ERROR(join(std::move(all.laid_out), candidates, context.layout_price()));
  if (candidates.empty()) return all;
  const auto say = [&context](std::size_t count) {
    context.progress.begin(fmt::format("choice among {} graphs", count));
  };
  LEMMA_ASSIGN_OR_RETURN(EvaluatedChoice choice,
                         choose_evaluated(original, std::move(candidates), context.costs,
                                          {.evaluator = *context.options.evaluator,
                                           .explain = context.options.explain,
                                           .say = say}));
  all.best = std::move(choice.candidate);
  if (choice.is_other) all.preference = Preference::best;
  all.figures.candidates = choice.candidates;
  all.figures.places = std::move(choice.places);
  return all;
}

}  // namespace lemma
