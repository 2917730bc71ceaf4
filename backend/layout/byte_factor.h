#pragma once
// Factors of sums of products as bytes without a sign, and what makes up for the difference.

#include <cstdint>
#include <optional>

#include "backend/layout/whole_numbers.h"
#include "backend/lower/computation.h"

namespace lemma::backend {

/// Elements are `bytes` - `subtracted` - `offset`. Such a factor times weights, summed up, is the sum of the bytes times the
/// weights, without the subtracted number times the sum of the weights.
struct ByteFactor {
  Computation bytes;  // of u8
  std::int64_t offset = 0;
  std::optional<ExpressionId> subtracted =
      {};  // of the factor's definition; the same for all elements

  bool needs_correction() const { return offset != 0 || subtracted; }
};

/// `factor`: a computation of integers without a result. Nothing where its elements lie too far apart.
std::optional<ByteFactor> byte_factor(const Computation& factor, const WholeNumbers& ranges);

/// A factor is `rest` times one number.
struct ScaledFactor {
  Computation rest;
  ExpressionId scale;  // of the factor's definition, without variables
};

/// Nothing where the factor is no product with a number, or a choice between such a product and 0.
std::optional<ScaledFactor> without_scale(const Computation& factor);

/// The same elements in another type of integers. The choice of a select stays the outermost operation, where those who write
/// loops look for it.
Computation in_type(const Computation& factor, DataType type);

}  // namespace lemma::backend
