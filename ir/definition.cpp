#include "ir/definition.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace lemma {

namespace {

using Kind = ExpressionKind;

constexpr std::array<std::string_view, 34> kind_names = {"integer",    "real",
                                                         "extent",     "index",
                                                         "read",       "+",
                                                         "-",          "*",
                                                         "/",          "floordiv",
                                                         "floormod",   "mod",
                                                         "pow",        "min",
                                                         "max",        "==",
                                                         "<",          "<=",
                                                         "and",        "or",
                                                         "not",        "bit_and",
                                                         "bit_or",     "bit_xor",
                                                         "shift_left", "shift_right",
                                                         "select",     "cast",
                                                         "function",   "sum",
                                                         "product",    "min",
                                                         "max",        "real parameter"};
static_assert(kind_names.at(static_cast<std::size_t>(Kind::real_parameter)) == "real parameter");

constexpr std::array<std::string_view, 26> function_names = {
    "",     "-",    "abs",   "sign",  "floor", "ceil", "round",  "exp",        "log",
    "sqrt", "1/",   "sin",   "cos",   "tan",   "asin", "acos",   "atan",       "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "erf",  "is_nan", "is_infinite"};
static_assert(function_names.at(static_cast<std::size_t>(ScalarFunction::is_infinite)) ==
              "is_infinite");

bool is_comparison(Kind kind) {
  return kind == Kind::equal || kind == Kind::less || kind == Kind::less_equal;
}

}  // namespace

std::string_view name(ExpressionKind kind) { return kind_names.at(static_cast<std::size_t>(kind)); }
std::string_view name(ScalarFunction function) {
  return function_names.at(static_cast<std::size_t>(function));
}
bool is_reduction(ExpressionKind kind) {
  return kind == Kind::sum || kind == Kind::product || kind == Kind::minimum_over ||
         kind == Kind::maximum_over;
}

DataType Expression::type() const { return builder_->node(id_).type; }

Expression DefinitionBuilder::add(ExpressionNode node) {
  // A linear search backwards finds shared subexpressions. None comes before its operands, so it ends there.
  auto& nodes = definition_.nodes_;
  std::size_t first = 0;
  for (const ExpressionId operand : node.operands)
    first = std::max(first, std::size_t{operand.v} + 1);
  for (std::size_t i = nodes.size(); i-- > first;)
    if (nodes[i] == node) return {this, {static_cast<std::uint32_t>(i)}};
  nodes.push_back(std::move(node));
  return {this, {static_cast<std::uint32_t>(nodes.size() - 1)}};
}

Expression DefinitionBuilder::variable(Dimension extent) {
  ExpressionNode node;
  node.kind = Kind::index;
  node.variable = {static_cast<std::uint32_t>(definition_.extents_.size())};
  definition_.extents_.push_back(std::move(extent));
  definition_.nodes_.push_back(std::move(node));  // there is none with this number
  return {this, {static_cast<std::uint32_t>(definition_.nodes_.size() - 1)}};
}

std::vector<Expression> DefinitionBuilder::variables(const Shape& extents) {
  std::vector<Expression> result;
  for (const Dimension& extent : extents) result.push_back(variable(extent));
  return result;
}

Expression DefinitionBuilder::integer(std::int64_t value, DataType type) {
  ExpressionNode node;
  node.kind = Kind::integer_constant;
  node.type = type;
  node.integer = value;
  return add(std::move(node));
}

Expression DefinitionBuilder::real(double value, DataType type) {
  ExpressionNode node;
  node.kind = Kind::real_constant;
  node.type = type;
  node.real = value;
  return add(std::move(node));
}

Expression DefinitionBuilder::real(Real value, DataType type) {
  if (const auto* number = std::get_if<double>(&value.value_)) return real(*number, type);
  ExpressionNode node;
  node.kind = Kind::real_parameter;
  node.type = type;
  node.integer = std::get<RealSymbol>(value.value_).rank;
  return add(std::move(node));
}

Expression DefinitionBuilder::constant(Real value, DataType type) {
  if (const auto* number = std::get_if<double>(&value.value_)) return constant(*number, type);
  return real(value, type);
}

Expression DefinitionBuilder::scaled(Real value, Expression x) {
  return value.is_written(1) ? x : constant(value, x.type()) * x;
}

Expression DefinitionBuilder::at_least(Real value, Expression x) {
  return value.is_written(-HUGE_VAL) ? x : maximum(x, constant(value, x.type()));
}

Expression DefinitionBuilder::at_most(Real value, Expression x) {
  return value.is_written(HUGE_VAL) ? x : minimum(x, constant(value, x.type()));
}

Expression DefinitionBuilder::pi(DataType type) {
  return real(4, type) * apply(ScalarFunction::atan, real(1, type));
}

Expression DefinitionBuilder::constant(double value, DataType type) {
  if (is_real(type)) return real(value, type);
  // Beyond its range the end of the type is meant; the conversion would be undefined there.
  const bool has_sign = is_integer(type) && !is_unsigned_integer(type);
  const int value_bits = type == DataType::boolean ? 1 : bits(type) - (has_sign ? 1 : 0);
  const double limit = std::ldexp(1.0, value_bits);
  if (!(value < limit)) return highest(type);
  if (value < (has_sign ? -limit : 0)) return lowest(type);
  if (type == DataType::u64)
    return integer(static_cast<std::int64_t>(static_cast<std::uint64_t>(value)), type);
  return integer(static_cast<std::int64_t>(value), type);
}

Expression DefinitionBuilder::extent(const Dimension& dimension) {
  if (dimension.is_constant()) return integer(dimension.offset());
  ExpressionNode node;
  node.kind = Kind::extent;
  node.extent = dimension;
  return add(std::move(node));
}

Expression DefinitionBuilder::lowest(DataType type) {
  if (is_real(type)) return real(-std::numeric_limits<double>::infinity(), type);
  if (type == DataType::boolean || is_unsigned_integer(type)) return integer(0, type);
  return integer(-(std::int64_t{1} << (bits(type) - 2)) * 2, type);
}

Expression DefinitionBuilder::highest(DataType type) {
  if (is_real(type)) return real(std::numeric_limits<double>::infinity(), type);
  if (type == DataType::boolean) return integer(1, type);
  if (type == DataType::u64) return integer(-1, type);  // all bits set
  const int value_bits = bits(type) - (is_unsigned_integer(type) ? 0 : 1);
  return integer(((std::int64_t{1} << (value_bits - 1)) - 1) * 2 + 1, type);
}

Expression DefinitionBuilder::read(std::uint32_t input, DataType type,
                                   std::vector<Expression> indices) {
  ExpressionNode node;
  node.kind = Kind::read;
  node.type = type;
  node.input = input;
  for (const Expression& index : indices) node.operands.push_back(index.id());
  return add(std::move(node));
}

namespace {

std::optional<Dimension> as_dimension(const ExpressionNode& node) {
  if (node.type != DataType::i64) return std::nullopt;
  if (node.kind == Kind::integer_constant) return Dimension(node.integer);
  if (node.kind == Kind::extent) return node.extent;
  return std::nullopt;
}

}  // namespace

/// Integer simplifications; `folded` says whether the result stands for a `kind` b.
Expression DefinitionBuilder::fold(ExpressionKind kind, Expression a, Expression b, bool& folded) {
  const auto x = as_dimension(node(a.id())), y = as_dimension(node(b.id()));
  folded = true;
  if (x && y) {
    Dimension value = Dimension::invalid();
    if (kind == Kind::add) value = *x + *y;
    if (kind == Kind::subtract) value = *x - *y;
    if (kind == Kind::multiply) value = *x * *y;
    if (kind == Kind::floor_divide) value = lemma::floor_div(*x, *y);
    if (kind == Kind::floor_modulo) value = lemma::floor_mod(*x, *y);
    if (value.is_valid()) return extent(value);
  }
  if (y && y->is(0) && (kind == Kind::add || kind == Kind::subtract)) return a;
  if (x && x->is(0) && kind == Kind::add) return b;
  if (y && y->is(1) && (kind == Kind::multiply || kind == Kind::floor_divide)) return a;
  if (x && x->is(1) && kind == Kind::multiply) return b;
  if (kind == Kind::multiply && ((x && x->is(0)) || (y && y->is(0)))) return integer(0);
  if (kind == Kind::floor_modulo && y && y->is(1)) return integer(0);
  // An index below the divisor: the quotient is 0, the remainder is the index.
  if ((kind == Kind::floor_divide || kind == Kind::floor_modulo) && y &&
      node(a.id()).kind == Kind::index && definition_.extent(node(a.id()).variable) == *y)
    return kind == Kind::floor_divide ? integer(0) : a;
  folded = false;
  return a;
}

Expression DefinitionBuilder::binary(ExpressionKind kind, Expression a, Expression b) {
  if (a.type() == DataType::i64 && b.type() == DataType::i64) {
    bool folded = false;
    const Expression result = fold(kind, a, b, folded);
    if (folded) return result;
  }
  ExpressionNode node;
  node.kind = kind;
  node.type = is_comparison(kind) ? DataType::boolean : a.type();
  node.operands = {a.id(), b.id()};
  return add(std::move(node));
}

Expression DefinitionBuilder::apply(ScalarFunction function, Expression a) {
  ExpressionNode node;
  node.kind = Kind::function;
  node.function = function;
  const bool predicate =
      function == ScalarFunction::is_nan || function == ScalarFunction::is_infinite;
  node.type = predicate ? DataType::boolean : a.type();
  node.operands = {a.id()};
  return add(std::move(node));
}

Expression DefinitionBuilder::select(Expression condition, Expression then, Expression otherwise) {
  const ExpressionNode& known = node(condition.id());
  if (known.kind == Kind::integer_constant) return known.integer != 0 ? then : otherwise;
  ExpressionNode node;
  node.kind = Kind::select;
  node.type = then.type();
  node.operands = {condition.id(), then.id(), otherwise.id()};
  return add(std::move(node));
}

Expression DefinitionBuilder::cast(Expression a, DataType type) {
  if (a.type() == type) return a;
  ExpressionNode node;
  node.kind = Kind::cast;
  node.type = type;
  node.operands = {a.id()};
  return add(std::move(node));
}

Expression DefinitionBuilder::floor_div(Expression a, const Dimension& b) {
  return binary(Kind::floor_divide, a, extent(b));
}
Expression DefinitionBuilder::floor_mod(Expression a, const Dimension& b) {
  return binary(Kind::floor_modulo, a, extent(b));
}

Expression DefinitionBuilder::reduce(ExpressionKind kind, std::vector<Expression> variables,
                                     Expression body) {
  assert(is_reduction(kind));
  if (variables.empty()) return body;
  ExpressionNode node;
  node.kind = kind;
  node.type = body.type();
  node.operands = {body.id()};
  for (const Expression& variable : variables)
    node.bound.push_back(this->node(variable.id()).variable);
  return add(std::move(node));
}

Expression DefinitionBuilder::like(const ExpressionNode& node,
                                   const std::vector<Expression>& operands) {
  assert(node.kind != Kind::index && !is_reduction(node.kind));
  if (operands.size() == 2 && node.kind != Kind::read)
    return node.kind == Kind::logical_and  ? operands[0] && operands[1]
           : node.kind == Kind::logical_or ? operands[0] || operands[1]
                                           : binary(node.kind, operands[0], operands[1]);
  if (node.kind == Kind::select) return select(operands[0], operands[1], operands[2]);
  ExpressionNode copy = node;
  copy.operands.clear();
  for (const Expression& operand : operands) copy.operands.push_back(operand.id());
  return add(std::move(copy));
}

Expression DefinitionBuilder::in_range(Expression index, const Dimension& extent) {
  const ExpressionNode& known = node(index.id());
  if (known.kind == Kind::index && definition_.extent(known.variable) == extent)
    return integer(1, DataType::boolean);
  return (integer(0) <= index) && (index < this->extent(extent));
}

void DefinitionBuilder::output(std::vector<Expression> axes, Expression value) {
  DefinedOutput output;
  for (const Expression& axis : axes) output.axes.push_back(node(axis.id()).variable);
  output.value = value.id();
  definition_.outputs_.push_back(std::move(output));
}

Definition DefinitionBuilder::finish() && { return std::move(definition_); }

Expression operator+(Expression a, Expression b) { return a.builder_->binary(Kind::add, a, b); }
Expression operator-(Expression a, Expression b) {
  return a.builder_->binary(Kind::subtract, a, b);
}
Expression operator*(Expression a, Expression b) {
  return a.builder_->binary(Kind::multiply, a, b);
}
Expression operator/(Expression a, Expression b) { return a.builder_->binary(Kind::divide, a, b); }
Expression operator+(Expression a, const Dimension& b) { return a + a.builder_->extent(b); }
Expression operator-(Expression a, const Dimension& b) { return a - a.builder_->extent(b); }
Expression operator*(Expression a, const Dimension& b) { return a * a.builder_->extent(b); }
Expression operator<(Expression a, Expression b) { return a.builder_->binary(Kind::less, a, b); }
Expression operator<=(Expression a, Expression b) {
  return a.builder_->binary(Kind::less_equal, a, b);
}
Expression operator==(Expression a, Expression b) { return a.builder_->binary(Kind::equal, a, b); }

Expression operator&&(Expression a, Expression b) {
  const ExpressionNode &x = a.builder_->node(a.id_), &y = a.builder_->node(b.id_);
  if (x.kind == Kind::integer_constant) return x.integer != 0 ? b : a;
  if (y.kind == Kind::integer_constant && y.integer != 0) return a;
  return a.builder_->binary(Kind::logical_and, a, b);
}

Expression operator||(Expression a, Expression b) {
  const ExpressionNode &x = a.builder_->node(a.id_), &y = a.builder_->node(b.id_);
  if (x.kind == Kind::integer_constant) return x.integer != 0 ? a : b;
  if (y.kind == Kind::integer_constant && y.integer == 0) return a;
  return a.builder_->binary(Kind::logical_or, a, b);
}

Expression operator!(Expression a) {
  ExpressionNode node;
  node.kind = Kind::logical_not;
  node.type = DataType::boolean;
  node.operands = {a.id_};
  return a.builder_->add(std::move(node));
}

Expression minimum(Expression a, Expression b) { return a.builder_->binary(Kind::minimum, a, b); }
Expression maximum(Expression a, Expression b) { return a.builder_->binary(Kind::maximum, a, b); }

const ExpressionNode* single_step(const Definition& definition) {
  if (definition.outputs().size() != 1) return nullptr;
  const ExpressionNode& step = definition.node(definition.outputs()[0].value);
  for (std::uint32_t i = 0; i < step.operands.size(); ++i) {
    const ExpressionNode& operand = definition.node(step.operands[i]);
    if (operand.kind != ExpressionKind::read || operand.input != i) return nullptr;
  }
  return &step;
}

}  // namespace lemma
