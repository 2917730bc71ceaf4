#pragma once
// Computations of integers from weights alone.

#include <optional>

#include "backend/lower/computation.h"

namespace lemma::backend {

/// All elements of a computation of i16, i8 or u8 by additions, products and choices of integers that 64 bits hold. Nothing if it reads
/// anything but weights of integers, or computes in another way. `sizes`: as the elements are to be seen.
std::optional<Constant> integer_weights(const Computation& computation,
                                        const std::vector<Buffer>& buffers,
                                        const lowering::Sizes& sizes);

}  // namespace lemma::backend
