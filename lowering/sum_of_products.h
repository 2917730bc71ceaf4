#pragma once
// Sums of products in loop nests, as of matrix products and convolutions: the one place that says what is one. Who makes
// something of them (contractions, vectors, tiles, panels, calls of libraries) asks here, and adds its own conditions.

#include <array>
#include <optional>
#include <vector>

#include "lowering/terms.h"

namespace lemma::lowering {

/// sum(bound: select(guards, product of factors, 0)).
struct SumOfProducts {
  std::vector<TermNumber>
      factors;  // that are no products themselves, from left to right: one or more
  std::vector<TermNumber> guards;  // all of them hold, or nothing is added
};

/// Nothing for terms that are no sums.
std::optional<SumOfProducts> sum_of_products(const TermGraph& graph, TermNumber id);

/// The two operands of the product, where the term is a sum of products without a guard.
std::optional<std::array<TermNumber, 2>> summed_product(const TermGraph& graph, const Term& sum);

/// The conditions that are joined by `and`, from left to right.
std::vector<TermNumber> conditions_of(const TermGraph& graph, TermNumber condition);

/// What is multiplied, if it is a product of products; else the term itself.
std::vector<TermNumber> factors_of(const TermGraph& graph, TermNumber id);

}  // namespace lemma::lowering
