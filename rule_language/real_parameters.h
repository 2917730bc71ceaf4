#pragma once
// Parameters `real` of rules. A case gives each of them a place in the order of the parameters and 0: 0 itself, or a
// symbol (ir/real.h) that can be compared with the others and 0, and nothing else. There is a case for each order
// (docs/certificates.md, "Real parameters").

#include <cstddef>
#include <string>
#include <vector>

#include "rule_language/rule_cases.h"

namespace lemma {

/// The symbol of rank k is written as k times this in certificates. Rules do not use these numbers otherwise.
inline constexpr double real_parameter_unit = 1031.125;
/// A value of a case as certificates write it.
std::string case_text(const AttributeValue& value);

std::size_t count_real_parameters(const Substitution& rule);

/// What a real parameter takes where a rule has `count` of them, ascending.
std::vector<AttributeValue> real_parameter_values(std::size_t count);
/// How many of those lie between 0 and one that is taken, without being taken themselves. A choice with such gaps
/// says the same as one without.
std::size_t gaps_between(const std::vector<AttributeValue>& taken);

/// All orders of the real parameters and 0; one empty choice if there are none.
std::vector<GivenParameters> orders_of_reals(const Substitution& rule);

/// Whether a number is written as a symbol is where a rule has `count` parameters.
bool is_real_token(double value, std::size_t count);
/// Whether the value is a symbol, or a number or a list with a number that is written as one.
bool has_real_token(const AttributeValue& value, std::size_t count);

/// Checks that attributes and conditions only compare the rule's real parameters, and that no
/// literal is a token of one of `count` parameters. The error names the attribute or condition.
Result<void> check_reals_are_compared(const Substitution& rule, std::size_t count);
/// Whether attributes or conditions compare real parameters with each other or with 0.
bool compares_reals(const Substitution& rule);
/// Checks that no attribute of the two sides that mentions no real parameter has a token as its
/// value.
Result<void> check_no_other_tokens(const Substitution& rule, const RuleBindings& bindings,
                                   std::size_t count);

}  // namespace lemma
