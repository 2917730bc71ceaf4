#pragma once
// The type of a value: element type and shape. Both may be unknown, for values between opaque
// nodes: an undefined element type, or no shape at all (unknown rank).

#include <optional>
#include <string>

#include "ir/data_type.h"
#include "ir/dimension.h"

namespace lemma {

struct TensorType {
  DataType data_type = DataType::undefined;
  std::optional<Shape> shape;  // nothing: the rank is unknown

  friend bool operator==(const TensorType&, const TensorType&) = default;

  /// Whether operators with a definition can work on it.
  bool is_known() const { return is_computable(data_type) && shape.has_value(); }
  /// Requires a known shape.
  std::size_t rank() const { return shape->size(); }
};

std::string text(const TensorType& type);  // "f32[1, N]", "i64[]", "f32[?]" for an unknown rank

}  // namespace lemma
