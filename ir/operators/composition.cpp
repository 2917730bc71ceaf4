#include "ir/operators/composition.h"

namespace lemma::operators {
namespace {

template <typename T>
Constant single(DataType type, const std::vector<std::int64_t>& sizes, T value) {
  return Constant::of(type, sizes, std::vector<T>{value});
}

}  // namespace

Constant constant_of_value(DataType type, double value, const std::vector<std::int64_t>& sizes) {
  if (type == DataType::f32) return single(type, sizes, static_cast<float>(value));
  if (type == DataType::f64) return single(type, sizes, value);
  if (type == DataType::f16) return single(type, sizes, f32_to_f16(static_cast<float>(value)));
  if (type == DataType::bf16) return single(type, sizes, f32_to_bf16(static_cast<float>(value)));
  if (type == DataType::u64) return single(type, sizes, static_cast<std::uint64_t>(value));
  // The low bytes of a two's complement integer are the integer of the narrower type.
  const auto integer = static_cast<std::int64_t>(value);
  switch (bits(type)) {
    case 8: return single(type, sizes, static_cast<std::uint8_t>(integer));
    case 16: return single(type, sizes, static_cast<std::uint16_t>(integer));
    case 32: return single(type, sizes, static_cast<std::uint32_t>(integer));
    default: return single(type, sizes, integer);
  }
}

Result<ValueId> add_cast(Graph& graph, ValueId value, DataType type) {
  if (graph.type(value).data_type == type) return value;
  return graph.add("Cast", {value}, {{"to", type}});
}

Result<ValueId> add_positions(Graph& graph, const Shape& shape, std::int64_t axis) {
  const auto position = static_cast<std::size_t>(axis);
  LEMMA_ASSIGN_OR_RETURN(const ValueId range,
                         graph.add("Range", {}, {{"limit", shape[position]}}));
  return graph.add("Unsqueeze", {range},
                   {{"axes", axes_between(1, static_cast<std::int64_t>(shape.size() - position))}});
}

Result<ValueId> add_channels(Graph& graph, ValueId vector, std::size_t rank) {
  return graph.add("Unsqueeze", {vector},
                   {{"axes", axes_between(1, static_cast<std::int64_t>(rank) - 1)}});
}

Integers axes_between(std::int64_t first, std::int64_t last) {
  Integers axes;
  for (std::int64_t axis = first; axis < last; ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace lemma::operators
