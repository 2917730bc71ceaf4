#include "partial/find.h"

#include <chrono>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "generator/symbolic.h"
#include "partial/rule_sizes.h"
#include "system/parallel.h"

namespace lemma::partial {
namespace {

using generator::CheckResult;
using generator::PartialCandidate;

constexpr std::size_t wanted_masks = 12;

class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::optional<Region> region_of(const Substitution& rule) {
  const auto extents = shape_of(rule, rule.left.front());
  if (!extents) return std::nullopt;
  return fitted_region(generator::masks_of(rule, wanted_masks, 1), *extents);
}

/// Whether the rule is true on some region for all sizes that are tried.
CheckResult judged(const Substitution& rule) {
  CheckResult result;
  const bool has_region = region_of(rule).has_value();
  result.instances = 1;
  if (!has_region) result.counterexample = "no region is seen on which the sides agree";
  return result;
}

/// What came of one candidate.
struct Outcome {
  std::optional<FoundRegion> found;
  OpenRegion open;
};

Outcome outcome_of(const generator::TermTable& table, const PartialCandidate& partial,
                   const std::string& name) {
  const Clock clock;
  Outcome outcome;
  outcome.open.target = partial.target;
  const auto made = generator::make_directed_rule(table, partial.candidate, name, judged);
  if (!made) {
    outcome.open.reason = made.error().reason;
    return outcome;
  }
  outcome.open.claim = text(made->rule);
  const auto region = region_of(made->rule);
  if (!region) {
    outcome.open.reason = "no region is seen on which the sides agree";
    return outcome;
  }
  FoundRegion found;
  found.target = partial.target;
  found.share = partial.share;
  found.operators = partial.operators;
  found.claim = made->rule;
  found.correction = corrected(made->rule, *region);
  found.seconds = clock.seconds();
  outcome.open.reason = found.correction.reason;
  if (found.correction.reason.empty()) outcome.found = std::move(found);
  return outcome;
}

}  // namespace

Result<FoundRegions> find_regions(const generator::OperatorSet& set,
                                  const generator::AgreementOptions& options) {
  const Clock clock;
  FoundRegions result;
  LEMMA_RETURN_IF_ERROR(generator::find_partial_terms(
      set, options, [&](const generator::TermTable& table, const generator::PartialTerms& terms) {
        result.statistics = terms.statistics;
        result.partial_terms = terms.candidates.size();
        std::vector<Outcome> outcomes(terms.candidates.size());
        parallel_for(outcomes.size(), options.threads, [&](std::size_t i) {
          outcomes[i] =
              outcome_of(table, terms.candidates[i], fmt::format("{}_region_{}", set.name, i));
        });
        // Terms that differ for the sizes of the set may be one for all.
        std::set<std::string> seen;
        for (Outcome& outcome : outcomes) {
          if (!outcome.found) {
            result.open.push_back(std::move(outcome.open));
            continue;
          }
          Substitution unnamed = outcome.found->correction.rule;
          unnamed.name.clear();
          if (!seen.insert(text(unnamed)).second) continue;
          outcome.found->correction.rule.name =
              fmt::format("{}_region_{}", set.name, result.found.size());
          result.found.push_back(std::move(*outcome.found));
        }
      }));
  result.seconds = clock.seconds();
  return result;
}

}  // namespace lemma::partial
