#pragma once
// Weights that are small whole numbers times a number, as those that were quantized are when they have been computed.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lowering/lanes.h"

namespace lemma::backend {

struct ScaledWeights {
  std::vector<std::int32_t> numbers;  // from -128 to 127
  std::optional<std::size_t> axis;    // along which scales differ
  std::vector<float> scales;          // one, or one for each place along the axis
};

/// Elements of f32 that are numbers times scales, but for the rounding of the product. `axes`: those along which scales may
/// differ. Nothing if there are no such scales.
std::optional<ScaledWeights> scaled_weights(const std::vector<double>& elements,
                                            const lowering::Sizes& sizes,
                                            std::span<const std::size_t> axes);

}  // namespace lemma::backend
