#pragma once
// The cases of a rule that are proved one by one: a number of axes for each group, each permutation
// and integer parameter, and symbols for everything else, so that a case covers all sizes.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/result.h"
#include "ir/substitution.h"

namespace lemma::verifier {

struct Case {
  RuleBindings bindings;
  std::vector<TensorType> inputs;
  std::string text;  // for messages: "B=2, p=[1, 0]"
};

/// All cases. Where the left side broadcasts groups of unrelated sizes against each other, the
/// cases also range over which axes have size 1: for aligned axes, sizes that broadcast are equal
/// or 1. An error says why the cases would not cover the rule.
Result<std::vector<Case>> cases_of(const Substitution& rule);

/// Parameters whose values are given instead of enumerated.
using GivenParameters = std::map<std::string, AttributeValue, std::less<>>;

struct CaseLimits {
  std::size_t patterns = 20'000, choices = 20'000;
  /// Where there are more than `patterns` ways to broadcast the groups, take this many of them.
  std::size_t sampled = 0;
};
/// The cases with the given numbers of axes; nothing if there are more than `patterns` ways to
/// broadcast the groups, more than `choices` values of the parameters, or sizes of too many terms.
Result<std::optional<std::vector<Case>>> cases_with_ranks(
    const Substitution& rule, const std::map<std::string, std::size_t>& ranks,
    const GivenParameters& given, const CaseLimits& limits);

/// Calls `visit` for every choice of a number of axes for each group; an error ends it.
Result<void> for_each_rank(
    const Substitution& rule,
    const std::function<Result<void>(const std::map<std::string, std::size_t>&)>& visit);

/// Real parameters cannot be symbols. They range over these values, which contain every order of
/// two parameters and of each with zero; axioms that depend on more than the order of their
/// parameters compute with them as attribute functions do.
inline constexpr double real_samples[] = {-2.5, -1.25, 0, 0.5, 1.75};

}  // namespace lemma::verifier
