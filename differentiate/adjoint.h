#pragma once
// The adjoints of the reads of an operand: what each of them adds to the gradient.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "differentiate/copies.h"
#include "differentiate/derive.h"

namespace lemma::differentiate {

/// One read of the operand. For all values of the variables, `adjoint` is added to the gradient's element at `indices`.
struct ReadAdjoint {
  std::vector<VariableId>
      variables;         // the axes of the output, and of the reductions around the read
  std::size_t axes = 0;  // how many of them are axes of the output
  std::vector<Expression> indices;
  Expression adjoint;
};

/// All expressions are made in `place`.
std::vector<ReadAdjoint> read_adjoints(const Definition& definition, std::uint32_t operand,
                                       std::span<const std::optional<std::uint32_t>> gradients,
                                       const Conventions& conventions, Workplace& place);

}  // namespace lemma::differentiate
