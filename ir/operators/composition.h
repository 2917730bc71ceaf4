#pragma once
// What composite operators are built with: scalar constants of any element type.

#include "ir/constant.h"
#include "ir/graph.h"

namespace lemma::operators {

/// A constant of one element; the value is rounded or truncated to the type.
Constant constant_of_value(DataType type, double value, const std::vector<std::int64_t>& sizes = {});

inline ValueId add_scalar(Graph& graph, double value, DataType type) {
  return graph.add_constant(constant_of_value(type, value));
}

/// The value in another element type; itself if it has that type.
Result<ValueId> add_cast(Graph& graph, ValueId value, DataType type);

/// The indices 0, 1, ... along `axis` of a tensor with the given shape, to be broadcast to it.
Result<ValueId> add_positions(Graph& graph, const Shape& shape, std::int64_t axis);

/// A vector over channels (axis 1) as a tensor to be broadcast to `rank` axes.
Result<ValueId> add_channels(Graph& graph, ValueId vector, std::size_t rank);

/// The axes first, first + 1, ..., last - 1.
Integers axes_between(std::int64_t first, std::int64_t last);

}  // namespace lemma::operators
