#pragma once
// Other variables for the index set of a reduction, each by a bijection between both sets.

#include <vector>

#include "verifier/index/expression.h"
#include "verifier/index/ranges.h"

namespace lemma::verifier::index {

/// A set of indices and what is computed at each: a sum, a maximum, or the elements that are read.
struct Reduction {
  std::vector<Bound> bound;
  Formula domain = always();
  std::vector<Term> terms;         // what is added up, or what a maximum is over
  std::vector<Dimension> indices;  // of a read
};

/// The same reduction with its variables in a normal form:
///
/// - v < q*d of which floor(v/d) occurs is u*d + w with u < q and w < d;
/// - u < q and w < d that occur as u*d + w only are one variable below q*d;
/// - v with a condition that s divides e = v + r and 0 <= e/s < n is s*q - r with q < n;
/// - a variable that a condition 0 <= a - d*q < d determines is floor(a/d).
///
/// Right where all divisors are positive. `ranges` are those of other variables.
Reduction with_normal_variables(Reduction reduction, const Ranges& ranges);

/// The same of a sum; of a maximum, whose text is not made.
Term with_normal_variables(const Term& term, const Ranges& ranges);
Factor with_normal_variables(const Factor& factor, const Ranges& ranges);

/// All sizes and indices that occur in them.
std::vector<Dimension> dimensions_of(const Polynomial& value, const Formula& guard);
/// The sizes by which quotients of a variable ask for it to be split: each d with floor(v / d) where d
/// divides the variable's extent.
std::vector<Dimension> wanted_splits(const std::vector<Dimension>& values, const Bound& variable);

}  // namespace lemma::verifier::index
