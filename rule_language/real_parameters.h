#pragma once
// Parameters `real` of rules. Unlike sizes they cannot be symbols. A case gives each of them a
// number, and there is one choice of numbers for each order of the parameters and 0. This covers
// all numbers if the numbers are only compared (docs/certificates.md, "Real parameters"), which is
// checked here.

#include <cstddef>
#include <string>
#include <vector>

#include "rule_language/rule_cases.h"

namespace lemma {

/// Real parameters take multiples of this, which rules do not use otherwise.
inline constexpr double real_parameter_unit = 1031.125;

std::size_t count_real_parameters(const Substitution& rule);

/// The numbers a real parameter takes where a rule has `count` of them, ascending.
std::vector<double> real_parameter_values(std::size_t count);
/// How many of those numbers lie between 0 and one that is taken, without being taken themselves. A
/// choice with such gaps says the same as one without.
std::size_t gaps_between(const std::vector<double>& taken);

/// All orders of the real parameters and 0; one empty choice if there are none.
std::vector<GivenParameters> orders_of_reals(const Substitution& rule);

/// Whether a number stands for a parameter where a rule has `count` of them.
bool is_real_token(double value, std::size_t count);
/// The same of a number or a list of numbers.
bool has_real_token(const AttributeValue& value, std::size_t count);

/// That attributes and conditions only compare the rule's real parameters, and that no literal is a
/// token of one of `count` parameters. The error names the attribute or condition.
Result<void> check_reals_are_compared(const Substitution& rule, std::size_t count);
/// Whether attributes or conditions compare real parameters with each other or with 0.
bool compares_reals(const Substitution& rule);
/// That no attribute of the two sides that mentions no real parameter has a token as its value.
Result<void> check_no_other_tokens(const Substitution& rule, const RuleBindings& bindings,
                                   std::size_t count);

}  // namespace lemma
