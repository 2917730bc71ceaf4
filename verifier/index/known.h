#pragma once
// The hypotheses of a proof, and their consequences.

#include <set>
#include <string>
#include <vector>

#include "verifier/index/formula.h"

namespace lemma::verifier::index {

/// Texts of conjuncts, to see at once what is given literally; Z3 for the rest.
class Known {
 public:
  explicit Known(const std::vector<Formula>& facts);
  const std::vector<Formula>& facts() const { return facts_; }
  void add(const Formula& given);
  bool implies(const Formula& goal) const;

 private:
  void note(const Formula& fact);
  Formula without_given(const Formula& fact) const;
  bool is_obvious(const Formula& goal) const;
  bool is_sum_of_zeros(const Dimension& value) const;
  bool is_positive_product(const Dimension& value) const;

  std::vector<Formula> facts_;
  std::set<std::string> texts_;
  std::vector<Dimension> zeros_;
};

}  // namespace lemma::verifier::index
