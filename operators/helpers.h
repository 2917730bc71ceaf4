#pragma once
// Shared helpers: broadcasting, type checks, elementwise definitions.

#include <functional>
#include <string>
#include <vector>

#include "ir/definition.h"
#include "ir/graph.h"
#include "ir/operator.h"

namespace lemma::operators {

/// The shape that ONNX broadcasting gives; an error names both shapes.
Result<Shape> broadcast(const Shape& a, const Shape& b);
/// The same as a demand of an application.
Result<Shape> broadcast(const Instance& instance, const Shape& a, const Shape& b);
/// Demands that `from` can be broadcast to just `to`; false if it would become larger.
Result<bool> broadcasts_to(const Instance& instance, const Shape& from, const Shape& to);
/// Over all present inputs.
Result<Shape> broadcast_inputs(const Instance& instance);

/// Errors unless all present inputs have one element type, of one of the classes.
/// `wide`: those that are computed with, not only copied and converted.
enum class TypeSet { any, wide, numeric, real, integer, boolean };
/// Errors unless all inputs that are there have one type, of this class.
Result<void> require_types(const Instance& instance, TypeSet set);
/// Errors unless one input, which is there, has a type of the class.
Result<void> require_type(const Instance& instance, std::size_t input, TypeSet set);
/// Errors unless the number of axes of an input is within these limits, both included.
Result<void> require_rank(const Instance& instance, std::size_t input, std::size_t minimum,
                          std::size_t maximum = 1000);

/// Errors unless two sizes are equal: bad input where they differ, unsupported where that is not
/// known before run time. `what` names what is counted.
Result<void> require_same_size(const Instance& instance, const Dimension& a, const Dimension& b,
                               std::string_view what);
/// Errors where an attribute that is a list of sizes has one that is not positive.
Result<void> require_positive(const Instance& instance, std::string_view attribute);

/// Indices of the element of `shape` that output element `axes` uses under broadcasting.
std::vector<Expression> broadcast_indices(DefinitionBuilder& builder, const Shape& shape,
                                          const std::vector<Expression>& axes);
/// Reads input `input` at the broadcast position.
Expression read_broadcast(DefinitionBuilder& builder, const Instance& instance, std::uint32_t input,
                          const std::vector<Expression>& axes);

/// Definition of an elementwise operator: output(axes) = body(reads of all present inputs), which
/// are broadcast against each other.
using ElementBody = Expression (*)(DefinitionBuilder&, const Instance&, std::vector<Expression>);
/// The shapes can be broadcast.
Definition define_elementwise(const Instance& instance, ElementBody body);

/// Types of an elementwise operator whose result has the type of its first input.
Result<std::vector<TensorType>> infer_elementwise(const Instance& instance, TypeSet set);

/// Type of input 0, unchanged.
Result<std::vector<TensorType>> infer_same(const Instance& instance);

/// Output shape and axis variables of the first output, taken from the record's own shape rule.
Shape output_shape(const Instance& instance, InferFunction infer);

/// `values` need not be sorted.
inline bool contains(const std::vector<std::int64_t>& values, std::int64_t value) {
  for (const std::int64_t v : values)
    if (v == value) return true;
  return false;
}

}  // namespace lemma::operators
