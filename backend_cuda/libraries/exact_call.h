#pragma once
// Calls that compute a tensor, and not only take as long as computing it (library_problem.h): which operand is which,
// constant factors, and that what lies beyond the edge of a tensor counts as libraries count it.

#include <cstdint>
#include <vector>

#include "backend_cuda/libraries/library_problem.h"
#include "lowering/lower.h"

namespace lemma::backend {

struct CallOperand {
  std::uint32_t input = 0;  // of the definition
  std::int64_t first = 0;   // element
  friend bool operator==(const CallOperand&, const CallOperand&) = default;
};

struct ExactCall {
  LibraryProblem problem;
  /// A product: left, right and what is added, if anything is. A convolution: data, weight and bias. A pool: data.
  std::vector<CallOperand> operands;
  double factor = 1;         // of a product's sums
  double addend_factor = 1;  // of a matrix that is added
};

/// An output of a definition with constant sizes, by one call. An error (`unsupported`) says why there is none.
Result<ExactCall> exact_call(const Definition& definition,
                             const std::vector<lowering::InputView>& inputs,
                             std::uint32_t output = 0);

/// Operations on real elements; a multiplication with an addition counts as two.
double operations_of(const LibraryProblem& problem);

}  // namespace lemma::backend
