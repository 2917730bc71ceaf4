#pragma once
// Sums of products of small whole numbers, and their factors as tensors.

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/layout/whole_numbers.h"
#include "backend/lower/copy_definition.h"

namespace lemma::backend {

const DefinedOutput& output_of(const Computation& computation);

/// Whether the expression depends on each variable of the definition.
std::vector<bool> variables_below(const Definition& definition, ExpressionId root);

/// A copy with nothing in the place of anything.
std::optional<Expression> nothing(ExpressionId id, const std::vector<Expression>& operands);

/// The definition of one output without expressions that it does not depend on.
Definition without_unreached(const Definition& definition);

/// A sum of products of small whole numbers.
struct SummedProduct {
  ExpressionId sum, product;
  bool is_scaled = false;  // the factors may be whole numbers times numbers that leave the sum
};

/// A factor as a tensor: the computation of its elements, and where each product reads it.
struct FactorTensor {
  Computation computation;            // without a result; its axes are those of the tensor
  std::size_t axis = 0;               // that goes with the variable of the sum
  std::vector<ExpressionId> indices;  // of the definition with the sum

  lowering::Sizes sizes() const {
    lowering::Sizes result;
    for (const VariableId v : output_of(computation).axes)
      result.push_back(computation.definition.extent(v).offset());
    return result;
  }
};

/// The only reduction of a computation, if it is such a sum. Sums that no type of 32 bits can hold are left alone, unless that
/// is what they are stored in.
std::optional<SummedProduct> find_product(const Computation& computation,
                                          const WholeNumbers& ranges);

/// Elements of a factor: of an operand, in the operand's order, or of an expression, by its variables. `k`: the variable of the
/// sum along which groups of so many `elements` lie.
std::optional<FactorTensor> factor_of(const Computation& whole, ExpressionId id, VariableId k,
                                      std::int64_t elements);

}  // namespace lemma::backend
