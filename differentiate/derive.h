#pragma once
// The vector-Jacobian product of a definition, as a definition.
//
//   y[i] = f(... x[L(i, r)] ...)   gives   dx[j] = sum(i, r where L(i, r) == j: df/dx * g[i])
//
// The adjoint of every step is an expression over the elements that the definition reads and those of g. Where
// the indices of a read are affine they are solved for j, so that the sum is over what is left only. Strides become
// remainders that have to be 0. What cannot be solved stays a condition on the index: elements that are indices, say.
// docs/gradients.md says what the derivative of each step is, also where there is none.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/definition.h"
#include "ir/operator.h"

namespace lemma::differentiate {

/// What the derivative is where a function has none, and what else is known of an operator's.
struct Conventions {
  /// Which elements an extreme element of a reduction is taken from, where several are extreme.
  enum class Ties { shared, first } ties = Ties::shared;
  /// What an element gets that is at the bound of a minimum or maximum with what depends on no element: nothing, all, or
  /// half of it, as where both depend on elements.
  enum class Bounds { stop, pass, share } bounds = Bounds::stop;
  /// An operator in the composition whose results only shift the range of others: the value does not depend on them, so
  /// that nothing goes through it. Empty: none.
  std::string_view shift = {};
};

/// The gradient of the operand: one output of the operand's shape, over the operands of the instance and, at
/// `gradients[k]`, the gradient of output k. Nothing there: the output has none.
Definition vector_jacobian_product(const Definition& definition, const Instance& instance,
                                   std::uint32_t operand,
                                   std::span<const std::optional<std::uint32_t>> gradients,
                                   const Conventions& conventions);

}  // namespace lemma::differentiate
