#pragma once
// Parameters of rules that matching does not bind: factors of sizes, and sizes of attributes such as gaps.

#include "rule_language/substitution.h"

namespace lemma::generator {

/// Declares as few variables free as matching the left side needs: factors of a size of an input, tried with its
/// divisors, and parameters, tried with the numbers from 1 to 4. False, and nothing is declared, if that is not enough.
bool declare_free_parameters(Substitution& rule);

/// What a rule says of parameters from 1 on: `g + 1` in place of each parameter g.
Substitution with_positive_parameters(Substitution rule);

/// `name + amount` in place of a variable, everywhere in the rule.
void shift_variable(Substitution& rule, const std::string& name, const RuleExpression& amount);

}  // namespace lemma::generator
