#pragma once
// Helpers for the definition of composite operators.

#include <functional>
#include <optional>

#include "ir/constant.h"
#include "ir/constant_expression.h"
#include "ir/graph.h"

namespace lemma::operators {

/// A constant of one element; the value is rounded or truncated to the type.
Constant constant_of_value(DataType type, double value,
                           const std::vector<std::int64_t>& sizes = {});

/// The axes first, first + 1, ..., last - 1.
Integers axes_between(std::int64_t first, std::int64_t last);

/// Adds operations to a graph so that formulas read as formulas: after a failure nothing more is
/// added, and outputs() returns the error.
class Composer {
 public:
  explicit Composer(Graph& graph) : graph_(graph) {}  // the graph must outlive it

  /// The output of an operator with one; ValueId::none() after a failure.
  ValueId operator()(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {});

  ///@{
  /// Elementwise, with broadcasting.
  ValueId add(ValueId a, ValueId b) { return (*this)("Add", {a, b}); }
  ValueId subtract(ValueId a, ValueId b) { return (*this)("Sub", {a, b}); }
  ValueId multiply(ValueId a, ValueId b) { return (*this)("Mul", {a, b}); }
  ValueId divide(ValueId a, ValueId b) { return (*this)("Div", {a, b}); }
  ValueId sqrt(ValueId a) { return (*this)("Sqrt", {a}); }
  ///@}

  /// A number; in proofs it is not rounded.
  ValueId scalar(double value, DataType type);
  ValueId scalar(Real value, DataType type);  // the same of a real type; may be symbolic
  /// What an expression without operands says, of a real type.
  ValueId scalar(DataType type, const std::function<Expression(DefinitionBuilder&)>& expression);
  /// value * factor; just the value where the factor is the number 1.
  ValueId scaled(ValueId value, Real factor);
  /// 1 / sqrt(size) for a size that is known.
  ValueId inverse_root(const Dimension& size, DataType type);
  ValueId constant(Constant value) { return graph_.add_constant(std::move(value)); }  // as it is
  /// The value in another element type; itself if it has that type.
  ValueId cast(ValueId value, DataType type);
  /// The indices 0, 1, ... along `axis` of a tensor with the given shape, to be broadcast to it.
  ValueId positions(const Shape& shape, std::int64_t axis);
  /// A vector over channels (axis 1) as a tensor to be broadcast to `rank` axes.
  ValueId channels(ValueId vector, std::size_t rank);

  /// The type of a value; no type after a failure.
  TensorType type(ValueId value) const { return error_ ? TensorType{} : graph_.type(value); }

  /// The values, or the first error of all operations.
  Result<std::vector<ValueId>> outputs(std::vector<ValueId> values);

 private:
  Graph& graph_;
  std::optional<Error> error_;
};

}  // namespace lemma::operators
