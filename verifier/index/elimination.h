#pragma once
// Variables of sums that are not needed: those with one value, and those that nothing depends on.

#include <functional>
#include <vector>

#include "verifier/index/expression.h"

namespace lemma::verifier::index {

using IsPositive = std::function<bool(const Dimension&)>;

/// A sum over a variable that can have one value only is the element at that value, if it is in the
/// variable's range.
Term without_single_values(Term term, const IsPositive& is_positive);

/// A sum of what does not depend on a variable is that, as often as the variable has values. Where it
/// may have none, what is not defined everywhere stays inside: only inside it is surely defined.
Polynomial without_idle_variables(Term term, const std::vector<Formula>& facts);

}  // namespace lemma::verifier::index
