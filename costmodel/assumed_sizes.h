#pragma once
// Symbolic sizes are unknown until run time. Costs are taken at sizes that are assumed for them.

#include "ir/attributes.h"
#include "ir/dimension.h"
#include "ir/tensor_type.h"

namespace lemma {

struct AssumedSizes {
  std::int64_t otherwise = 16;  // of every symbol that has no value of its own
  DimensionBindings named = {};

  /// Constant, and at least 0.
  Dimension bind(const Dimension& dimension) const;
  TensorType bind(const TensorType& type) const;
  Attributes bind(const Attributes& attributes) const;
};

}  // namespace lemma
