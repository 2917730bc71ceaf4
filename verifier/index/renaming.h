#pragma once
// Variables of one reduction in terms of those of another one.

#include <utility>
#include <vector>

#include "verifier/index/formula.h"

namespace lemma::verifier::index {

/// Each variable of `to` as an expression of the variables of `from`, and back, found by solving equations between
/// indices. Nothing is known of the result but that it has an expression for each variable: what it is used for
/// has to be checked.
class Renaming {
 public:
  Renaming(const std::vector<Bound>& from, const std::vector<Bound>& to) : from_(from), to_(to) {}

  /// Requires that an index over `from` is to be equal to one over `to`.
  void require(const Dimension& here, const Dimension& there) {
    equations_.push_back(here - there);
  }
  /// False if a variable is left without an expression. Variables that no equation speaks of are paired by extent.
  bool solve();

  const DimensionBindings& forward() const { return forward_; }    // of `to`, over `from`
  const DimensionBindings& backward() const { return backward_; }  // of `from`, over `to`

 private:
  bool solve_one(const std::vector<Bound>& variables, DimensionBindings& known) const;
  bool solve_radix(const std::vector<Bound>& variables, DimensionBindings& known) const;
  void solve_for(const std::vector<Bound>& variables, DimensionBindings& known) const;
  void pair(bool of_equal_extents);

  const std::vector<Bound>&from_, &to_;
  std::vector<Dimension> equations_;  // each is 0
  DimensionBindings forward_, backward_;
};

}  // namespace lemma::verifier::index
