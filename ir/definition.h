#pragma once
// The meaning of an operator, as data: each element of each output is an index expression over
// elements of the inputs.
//
//   y[i, j] = sum(k < K: a[i, k] * b[k, j])
//
// Number domain. Expressions are typed by DataType. Index arithmetic is i64. Arithmetic on a real
// type is arithmetic of the domain the evaluator is instantiated with (f32, f64, exact integers, a
// prime field); proofs read it as real arithmetic. Integers are two's complement of their width:
// they are computed in 64 bits and wrapped when an element is stored. `divide` on integers
// truncates toward zero, as ONNX has it; floor_divide and floor_modulo round toward minus infinity.
//
// Partiality. A read outside its tensor is undefined, and so is every expression that depends on
// it, except behind a guard: select(c, a, b) does not depend on a where c is false, nor on b where
// c is true; and logical_and(c, d) does not depend on d where c is false.
//
// NaN and infinity follow IEEE 754 where the domain has them. minimum and maximum, also as
// reductions, return NaN if an operand is NaN. A reduction over an empty range gives its neutral
// element: 0, 1, +infinity (or the largest integer of the type) for a minimum, and the opposite
// for a maximum.
//
// An Expression is a cheap handle; equal expressions of one Definition are one node.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/data_type.h"
#include "ir/dimension.h"
#include "ir/real.h"

namespace lemma {

enum class ExpressionKind : std::uint8_t {
  integer_constant,
  real_constant,
  extent,  // a symbolic dimension as an i64
  index,   // an index variable
  read,    // element of an input, operands: one i64 index per axis
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  floor_modulo,
  truncated_modulo,  // sign of the dividend, as C's % and fmod
  power,
  minimum,
  maximum,
  equal,
  less,
  less_equal,
  logical_and,
  logical_or,
  logical_not,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  select,  // condition, then, otherwise
  cast,  // to the expression's type; real to integer truncates toward zero; a narrow type's code to and from integers
  function,  // a scalar function of one real operand
  sum,       // reductions: operand is the body, over `bound` variables
  product,
  minimum_over,
  maximum_over,
  real_parameter,  // a real attribute that stands for all numbers of its order; `integer` is its rank
};

enum class ScalarFunction : std::uint8_t {
  none,
  negate,
  absolute,
  sign,
  floor,
  ceil,
  round,  // half to even
  exp,
  log,
  sqrt,
  reciprocal,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  is_nan,       // result is boolean
  is_infinite,  // result is boolean
};

std::string_view name(ExpressionKind kind);
std::string_view name(ScalarFunction function);
bool is_reduction(ExpressionKind kind);

struct ExpressionId {
  std::uint32_t v = 0;
  friend auto operator<=>(ExpressionId, ExpressionId) = default;
};
struct VariableId {
  std::uint32_t v = 0;
  friend auto operator<=>(VariableId, VariableId) = default;
};

struct ExpressionNode {
  ExpressionKind kind = ExpressionKind::integer_constant;
  ScalarFunction function = ScalarFunction::none;
  DataType type = DataType::i64;
  std::vector<ExpressionId> operands;
  std::int64_t integer = 0;       // integer_constant; real_parameter: the rank
  double real = 0;                // real_constant
  Dimension extent;               // extent
  std::uint32_t input = 0;        // read: position of the input
  VariableId variable;            // index
  std::vector<VariableId> bound;  // reductions
  friend bool operator==(const ExpressionNode&, const ExpressionNode&) = default;
};

/// One output: value(axes[0], axes[1], ...), a variable for each axis.
struct DefinedOutput {
  std::vector<VariableId> axes;
  ExpressionId value;
};

class Definition {
 public:
  /// Operands come before the nodes that use them.
  const std::vector<ExpressionNode>& nodes() const { return nodes_; }
  const ExpressionNode& node(ExpressionId id) const { return nodes_[id.v]; }
  /// The range of a variable is 0 <= v < extent.
  const std::vector<Dimension>& variable_extents() const { return extents_; }
  const Dimension& extent(VariableId variable) const { return extents_[variable.v]; }
  const std::vector<DefinedOutput>& outputs() const { return outputs_; }

 private:
  friend class DefinitionBuilder;
  std::vector<ExpressionNode> nodes_;
  std::vector<Dimension> extents_;
  std::vector<DefinedOutput> outputs_;
};

/// "y[i0, i1] = sum(k0 < K: a[i0, k0] * b[k0, i1])", a line an output. Inputs are named a, b, c, ...
std::string text(const Definition& definition);

class DefinitionBuilder;

/// Handle on an expression under construction. Operators build new expressions; integer literals
/// convert by way of DefinitionBuilder::integer, reals by real().
class Expression {
 public:
  Expression() = default;
  ExpressionId id() const { return id_; }
  DataType type() const;

  friend Expression operator+(Expression a, Expression b);
  friend Expression operator-(Expression a, Expression b);
  friend Expression operator*(Expression a, Expression b);
  friend Expression operator/(Expression a, Expression b);
  friend Expression operator+(Expression a, const Dimension& b);
  friend Expression operator-(Expression a, const Dimension& b);
  friend Expression operator*(Expression a, const Dimension& b);
  friend Expression operator<(Expression a, Expression b);
  friend Expression operator<=(Expression a, Expression b);
  friend Expression operator==(Expression a, Expression b);
  friend Expression operator&&(Expression a, Expression b);
  friend Expression operator||(Expression a, Expression b);
  friend Expression operator!(Expression a);
  friend Expression minimum(Expression a, Expression b);
  friend Expression maximum(Expression a, Expression b);

 private:
  friend class DefinitionBuilder;
  Expression(DefinitionBuilder* builder, ExpressionId id) : builder_(builder), id_(id) {}
  DefinitionBuilder* builder_ = nullptr;
  ExpressionId id_;
};

/// Builds a Definition; simplifies integer arithmetic with constants on the way (x + 0, x * 1,
/// floor division by 1, constant folding), so that definitions read as people write them.
class DefinitionBuilder {
 public:
  DefinitionBuilder() = default;
  DefinitionBuilder(const DefinitionBuilder&) = delete;
  DefinitionBuilder& operator=(const DefinitionBuilder&) = delete;

  /// A new index variable 0 <= v < extent, as an expression.
  Expression variable(Dimension extent);
  std::vector<Expression> variables(const Shape& extents);

  Expression integer(std::int64_t value, DataType type = DataType::i64);
  Expression real(double value, DataType type);
  /// A real attribute as a constant. Definitions compute with the expression.
  Expression real(Real value, DataType type);
  /// The value as a constant of any computable type.
  Expression constant(double value, DataType type);
  Expression constant(Real value, DataType type);
  /// value * x; just x where the value is the number 1.
  Expression scaled(Real value, Expression x);
  /// The larger or smaller one of x and the value; just x where the value is the infinity that bounds nothing.
  Expression at_least(Real value, Expression x);
  Expression at_most(Real value, Expression x);
  /// The circle constant.
  Expression pi(DataType type);
  Expression extent(const Dimension& dimension);
  /// Least and greatest value of a type: infinities for real types.
  Expression lowest(DataType type);
  Expression highest(DataType type);

  Expression read(std::uint32_t input, DataType type, std::vector<Expression> indices);
  Expression binary(ExpressionKind kind, Expression a, Expression b);
  Expression apply(ScalarFunction function, Expression a);
  Expression select(Expression condition, Expression then, Expression otherwise);
  Expression cast(Expression a, DataType type);
  Expression floor_div(Expression a, const Dimension& b);
  Expression floor_mod(Expression a, const Dimension& b);
  /// A reduction; `variables` are index expressions made by variable().
  Expression reduce(ExpressionKind kind, std::vector<Expression> variables, Expression body);
  Expression sum(std::vector<Expression> variables, Expression body) {
    return reduce(ExpressionKind::sum, std::move(variables), body);
  }
  /// The same step as a node of another definition, on other operands. No variable, extent or reduction, which are made
  /// by the functions above.
  Expression like(const ExpressionNode& node, const std::vector<Expression>& operands);
  /// 0 <= index < extent, each half only where it is not obviously true.
  Expression in_range(Expression index, const Dimension& extent);

  /// Declares the next output.
  void output(std::vector<Expression> axes, Expression value);
  Definition finish() &&;

  const ExpressionNode& node(ExpressionId id) const { return definition_.nodes_[id.v]; }
  /// The handle on a node of this builder.
  Expression expression(ExpressionId id) { return {this, id}; }

 private:
  friend Expression operator!(Expression a);
  Expression add(ExpressionNode node);
  Expression fold(ExpressionKind kind, Expression a, Expression b, bool& folded);
  Definition definition_;
};

Expression minimum(Expression a, Expression b);
Expression maximum(Expression a, Expression b);

/// The step that makes the elements of the only output from elements of the operands as they are read, one
/// operand after the other: x0 - x1, exp(x0), the sum of x0. Null where the definition does more.
const ExpressionNode* single_step(const Definition& definition);

}  // namespace lemma
