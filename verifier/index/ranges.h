#pragma once
// Index arithmetic under known ranges: greatest values, and quotients of what is known to be in range.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verifier/index/expression.h"

namespace lemma::verifier::index {

/// A dimension by its products of variables of the proof (names that begin with "_") and quotients of
/// these: each with what it is multiplied by, a polynomial over sizes.
struct GroupedTerm {
  Dimension variables;  // 1 for what mentions none
  Dimension factor;
};
std::vector<GroupedTerm> grouped(const Dimension& value);

/// The factor of a variable in a dimension, if the variable occurs as factor * variable only.
/// 0 if it does not occur.
std::optional<Dimension> factor_of(const Dimension& value, const std::string& variable);

/// Upper bounds of variables of the proof.
class Ranges {
 public:
  Ranges() = default;
  /// The ranges from facts of the form variable < extent.
  explicit Ranges(const std::vector<Formula>& facts);
  void add(const Formula& fact);
  void add(const std::vector<Bound>& bound);

  /// The variable is below this; null if nothing is known.
  const Dimension* extent(const std::string& variable) const;
  /// A bound that is not below the value, for all values of the variables in their ranges: a
  /// polynomial over sizes. Right where all ranges have an element.
  std::optional<Dimension> greatest(const Dimension& value) const;
  std::optional<Dimension> least(const Dimension& value) const;
  /// 0 <= value < limit follows from the ranges, which says that limit > 0.
  bool is_below(const Dimension& value, const Dimension& limit) const;

  /// The same value, with quotients that the ranges decide left out. It is the same where the ranges hold
  /// and all divisors are positive.
  Dimension simplified(const Dimension& value) const;
  /// floor(a / b), where operands are simplified.
  Dimension quotient(const Dimension& a, const Dimension& b) const;

 private:
  std::optional<Dimension> bound(const Dimension& value, int sign) const;
  std::optional<Dimension> split_quotient(const Dimension& a, const Dimension& b) const;

  std::map<std::string, Dimension, std::less<>> extents_;
};

using DimensionMap = std::function<Dimension(const Dimension&)>;
Formula mapped(const Formula& formula, const DimensionMap& map);

/// Quotients simplified everywhere in it; where a reduction binds variables, also under their ranges.
Polynomial simplified(const Polynomial& value, const Ranges& ranges);
Term simplified(const Term& term, const Ranges& ranges);
Factor simplified(const Factor& factor, const Ranges& ranges);

}  // namespace lemma::verifier::index
