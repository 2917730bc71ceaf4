#pragma once
// Types of what operators give that no operator record expresses in a graph: that much is known before the model runs.

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/onnx_mapping.h"

namespace lemma {

/// A size that is not known: of an output, at an axis.
using UnknownSize = std::function<Dimension(std::size_t output, std::size_t axis)>;

/// The types of the outputs of a call; of unknown type where nothing is known. Operands may be of unknown type. A rank is
/// told only where it is certain.
std::vector<TensorType> result_types(const OnnxCall& call, std::string_view domain,
                                     const UnknownSize& unknown);

/// The shape of operands that broadcast, where the sizes do not tell which of them is stretched: such a size is not known.
/// Nothing: some operand's rank is not known.
std::optional<Shape> broadcast_shape(const std::vector<TensorType>& operands,
                                     const UnknownSize& unknown);

}  // namespace lemma
