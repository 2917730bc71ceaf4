#pragma once
// Equality by cases: the order of the arguments of a maximum, and the sign of what an absolute value
// is taken of, where these are arguments of other functions.

#include <vector>

#include "verifier/index/expression.h"
#include "verifier/index/formula.h"

namespace lemma::verifier::index {

/// Whether a = b in each case. Tried where are_equal() does not see it; looks at a few such
/// maxima only. Throws Unsupported.
bool are_equal_by_cases(const Polynomial& a, const Polynomial& b,
                        const std::vector<Formula>& facts);

}  // namespace lemma::verifier::index
