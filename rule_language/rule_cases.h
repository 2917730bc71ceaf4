#pragma once
// The cases of a rule that are proved one by one: a number of axes for each group, each permutation
// and integer parameter, and symbols for everything else, so that a case covers all sizes.
//
// The list of cases is part of the claim of a rule, so that prover and checker share it.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "rule_language/substitution.h"

namespace lemma {

struct RuleCase {
  RuleBindings bindings;
  std::vector<TensorType> inputs;
  std::string text;  // what tells it from the others: "B=[B.0, B.1], p=[1, 0]"
};

/// All cases of the claim from left to right. Where the left side broadcasts groups of unrelated
/// sizes against each other, the cases also range over which axes have size 1: for aligned axes,
/// sizes that broadcast are equal or 1. Real parameters take a number for each order of them and 0
/// (rule_language/real_parameters.h). Of rules that are proved for scalars (rule_language/axis_wise.h) these are the cases
/// in which no group has an axis. A case is left out only if a condition is false in it for all sizes. An
/// error says why the cases would not cover the rule.
Result<std::vector<RuleCase>> cases_of(const Substitution& rule);

/// The cases that a proof must have: those of the claim, and for `=` also those of the claim read
/// from right to left that are not among them.
Result<std::vector<RuleCase>> required_cases(const Substitution& rule);

/// Cases that show what a rule covers: those that a proof must have, but where these are scalars alone, some with 0, 1, 4 and
/// 8 axes of each group. Not all of them, so that nothing is proved with these.
Result<std::vector<RuleCase>> covered_cases(const Substitution& rule);

/// Parameters whose values are given instead of enumerated.
using GivenParameters = std::map<std::string, AttributeValue, std::less<>>;

struct CaseLimits {
  std::size_t patterns = 20'000, choices = 20'000;
  /// How many ways to broadcast the groups are taken where there are more than `patterns`.
  std::size_t sampled = 0;
};
/// The cases with the given numbers of axes; nothing if there are more than `patterns` ways to
/// broadcast the groups, more than `choices` values of the parameters, or sizes of too many terms.
Result<std::optional<std::vector<RuleCase>>> cases_with_ranks(
    const Substitution& rule, const std::map<std::string, std::size_t>& ranks,
    const GivenParameters& given, const CaseLimits& limits);

/// One of the cases, for looking at a typical application: groups have one axis where they may (otherwise
/// two, none, three), parameters their first values that fit. Nothing if none is found quickly.
std::optional<RuleCase> example_case(const Substitution& rule);

/// Calls `visit` for every choice of a number of axes for each group; an error ends it.
Result<void> for_each_rank(
    const Substitution& rule,
    const std::function<Result<void>(const std::map<std::string, std::size_t>&)>& visit);

/// "A=[A.0], p=[1, 0]": groups and parameters, but for parameters that are symbols.
std::string describe(const Substitution& rule, const RuleBindings& bindings);
/// The types of the inputs; those without a written type have the type `real`.
Result<std::vector<TensorType>> input_types(const Substitution& rule, const RuleBindings& bindings,
                                            DataType real = DataType::f32);
/// One side, `rule.left` or `rule.right`, as a graph: its inputs are those of the rule, with the given
/// types; its outputs are named y0, y1, ....
Result<Graph> side_as_graph(const Substitution& rule, std::span<const TermId> roots,
                            std::span<const TensorType> inputs, const RuleBindings& bindings);
/// Names of dimension variables that stand in declared shapes, other than groups and parameters.
std::vector<std::string> dimension_variables(const Substitution& rule);

/// Conditions `NAME == EXPRESSION`, where NAME is a dimension variable of the declared shapes or a
/// parameter `dimension`: gives NAME that value, one after the other. What holds where the conditions do is not changed, and a
/// proof may assume them. Values that are no dimensions are left alone.
void bind_equalities(const Substitution& rule, RuleBindings& bindings);

}  // namespace lemma
