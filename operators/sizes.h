#pragma once
// Arithmetic on sizes and small checks that the structural operators share.

#include <initializer_list>
#include <optional>
#include <string_view>

#include "ir/dimension.h"
#include "ir/onnx_mapping.h"
#include "ir/operator.h"

namespace lemma::operators {

/// The common size of two axes that must be equal at run time: a fixed size beside a symbolic one
/// wins (see broadcast); nothing if they are different.
std::optional<Dimension> agree(const Dimension& a, const Dimension& b);
/// The same as a demand of an application.
std::optional<Dimension> agree(const Instance& instance, const Dimension& a, const Dimension& b);

/// Smallest integer that is at least a / b, for b > 0.
Dimension ceil_div(const Dimension& a, const Dimension& b);

/// a >= b for all values of the symbols, as far as that is seen.
bool surely_at_least(const Dimension& a, const Dimension& b);

/// An `unsupported` error for the first ONNX attribute that is not among `names`.
Result<void> only_attributes(const OnnxCall& call, std::initializer_list<std::string_view> names);

/// Integer attribute of an ONNX call, or its default.
std::int64_t integer_or(const OnnxCall& call, std::string_view name, std::int64_t otherwise);
/// String attribute of an ONNX call, or its default.
std::string_view string_or(const OnnxCall& call, std::string_view name, std::string_view otherwise);

/// A variable of a reduction, collected in `bound`; position 0 where the range has only that.
Expression reduction_index(DefinitionBuilder& builder, const Dimension& extent,
                           std::vector<Expression>& bound);

/// Position in the row-major order of `shape`.
Expression flat_index(DefinitionBuilder& builder, const Shape& shape,
                      const std::vector<Expression>& indices);

/// The inverse: indices into `shape` of a row-major position.
std::vector<Expression> unflattened(DefinitionBuilder& builder, const Shape& shape,
                                    Expression position);

/// Axes from `begin` up to `end`.
inline Shape part(const Shape& shape, std::size_t begin, std::size_t end) {
  return {shape.begin() + static_cast<long>(begin), shape.begin() + static_cast<long>(end)};
}

}  // namespace lemma::operators
