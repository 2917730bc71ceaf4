#pragma once
// A second evaluator of definitions, as simple as can be: one element at a time, by walking the
// expression. Native domain only. The tests hold the interpreter against it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "interpreter/tensor.h"
#include "ir/constant_expression.h"
#include "ir/definition.h"

namespace lemma::interpreter::reference {

using Kind = ExpressionKind;

/// Evaluates a definition element by element, as it is written.
struct Scalar {
  bool defined = true;
  double real = 0;
  std::int64_t integer = 0;  // also booleans
};

class ScalarEvaluator {
 public:
  ScalarEvaluator(const Definition& definition, std::span<const Tensor> inputs)
      : definition_(definition), variables_(definition.variable_extents().size(), 0) {
    for (const Tensor& tensor : inputs) {
      sizes_.push_back(tensor.sizes());
      const bool real = is_real(tensor.data_type());
      reals_.push_back(real ? tensor.reals() : std::vector<double>{});
      integers_.push_back(real || tensor.is_absent() ? std::vector<std::int64_t>{}
                                                     : tensor.integers());
    }
  }

  Result<Tensor> output(const DefinedOutput& output) {
    Sizes sizes;
    for (const VariableId axis : output.axes) sizes.push_back(*definition_.extent(axis).constant());
    const DataType type = definition_.node(output.value).type;
    const auto count = static_cast<std::size_t>(interpreter::element_count(sizes));
    std::vector<double> reals;
    std::vector<std::int64_t> integers;
    for (std::size_t i = 0; i < count; ++i) {
      auto rest = static_cast<std::int64_t>(i);
      for (std::size_t axis = sizes.size(); axis-- > 0;) {
        variables_[output.axes[axis].v] = rest % sizes[axis];
        rest /= sizes[axis];
      }
      const Scalar value = evaluate(output.value);
      if (!value.defined) return bad_input("the result depends on an undefined element");
      if (is_real(type))
        reals.push_back(value.real);
      else
        integers.push_back(value.integer);
    }
    return is_real(type) ? Tensor::from_reals(type, sizes, reals)
                         : Tensor::from_integers(type, sizes, integers);
  }

 private:
  static double round_to(DataType type, double value) {
    return type == DataType::f64 ? value : static_cast<double>(static_cast<float>(value));
  }

  Scalar evaluate(ExpressionId id) {
    const ExpressionNode& node = definition_.node(id);
    // A constant is rounded once, whatever it is computed of.
    if (const auto number = constant_value(definition_, id))
      return {true, round_to(node.type, *number), 0};
    switch (node.kind) {
      case Kind::integer_constant: return {true, static_cast<double>(node.integer), node.integer};
      case Kind::real_constant: return {true, round_to(node.type, node.real), 0};
      case Kind::extent: return {true, 0, *node.extent.constant()};
      case Kind::index: return {true, 0, variables_[node.variable.v]};
      case Kind::read: return read(node);
      case Kind::select: {
        const Scalar condition = evaluate(node.operands[0]);
        if (!condition.defined) return condition;
        return evaluate(node.operands[condition.integer != 0 ? 1 : 2]);
      }
      case Kind::logical_and: {
        const Scalar left = evaluate(node.operands[0]);
        return left.defined && left.integer != 0 ? evaluate(node.operands[1]) : left;
      }
      case Kind::sum:
      case Kind::product:
      case Kind::minimum_over:
      case Kind::maximum_over: return reduce(node);
      default: break;
    }
    const Scalar a = evaluate(node.operands[0]);
    const Scalar b = node.operands.size() > 1 ? evaluate(node.operands[1]) : Scalar{};
    if (!a.defined || !b.defined) return {false, 0, 0};
    return combine(node, definition_.node(node.operands[0]).type, a, b);
  }

  Scalar read(const ExpressionNode& node) {
    std::int64_t address = 0;
    const Sizes& sizes = sizes_[node.input];
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      const Scalar index = evaluate(node.operands[axis]);
      if (!index.defined || index.integer < 0 || index.integer >= sizes[axis]) return {false, 0, 0};
      address = address * sizes[axis] + index.integer;
    }
    const auto position = static_cast<std::size_t>(address);
    if (is_real(node.type)) return {true, reals_[node.input][position], 0};
    return {true, 0, integers_[node.input][position]};
  }

  Scalar neutral(const ExpressionNode& node) const {
    if (node.kind == Kind::sum) return {true, 0, 0};
    if (node.kind == Kind::product) return {true, 1, 1};
    const bool least = node.kind == Kind::maximum_over;
    const double infinity = std::numeric_limits<double>::infinity();
    DefinitionBuilder builder;
    const Expression bound = least ? builder.lowest(node.type) : builder.highest(node.type);
    return {true, least ? -infinity : infinity, builder.node(bound.id()).integer};
  }

  Scalar reduce(const ExpressionNode& node) {
    Scalar total = neutral(node);
    std::int64_t count = 1;
    for (const VariableId v : node.bound) count *= *definition_.extent(v).constant();
    ExpressionNode step;
    step.type = node.type;
    step.kind = node.kind == Kind::sum            ? Kind::add
                : node.kind == Kind::product      ? Kind::multiply
                : node.kind == Kind::minimum_over ? Kind::minimum
                                                  : Kind::maximum;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i;
      for (std::size_t k = node.bound.size(); k-- > 0;) {
        const std::int64_t extent = *definition_.extent(node.bound[k]).constant();
        variables_[node.bound[k].v] = rest % extent;
        rest /= extent;
      }
      const Scalar body = evaluate(node.operands[0]);
      if (!body.defined) return body;
      total = combine(step, node.type, total, body);
    }
    return total;
  }

  static Scalar combine(const ExpressionNode& node, DataType operand, Scalar a, Scalar b) {
    if (node.kind == Kind::cast) return cast(node.type, operand, a);
    if (is_real(operand)) return combine_reals(node, a.real, b.real);
    return combine_integers(node, operand, a.integer, b.integer);
  }

  static Scalar cast(DataType to, DataType from, Scalar a) {
    if (is_real(from) && is_real(to)) {
      const std::vector<double> value = {a.real};
      return {true, Tensor::from_reals(to, {}, value).reals()[0], 0};
    }
    if (is_real(from))
      return {true, 0, Tensor::from_reals(to, {}, std::vector{a.real}).integers()[0]};
    if (is_real(to)) {
      const double value = from == DataType::u64
                               ? static_cast<double>(static_cast<std::uint64_t>(a.integer))
                               : static_cast<double>(a.integer);
      return {true, round_to(to, value), 0};
    }
    return {true, 0, Tensor::from_integers(to, {}, std::vector{a.integer}).integers()[0]};
  }

  static Scalar truth(bool value) { return {true, 0, value ? 1 : 0}; }

  static Scalar combine_reals(const ExpressionNode& node, double a, double b) {
    auto real = [&](double value) { return Scalar{true, round_to(node.type, value), 0}; };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    switch (node.kind) {
      case Kind::add: return real(a + b);
      case Kind::subtract: return real(a - b);
      case Kind::multiply: return real(a * b);
      case Kind::divide: return real(a / b);
      case Kind::floor_divide: return real(std::floor(a / b));
      case Kind::truncated_modulo: return real(std::fmod(a, b));
      case Kind::floor_modulo: {
        const double rest = std::fmod(a, b);
        return real(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
      }
      case Kind::power: return real(std::pow(a, b));
      case Kind::minimum: return real(a != a || b != b ? nan : std::min(a, b));
      case Kind::maximum: return real(a != a || b != b ? nan : std::max(a, b));
      case Kind::equal: return truth(a == b);
      case Kind::less: return truth(a < b);
      case Kind::less_equal: return truth(a <= b);
      default: break;
    }
    switch (node.function) {
      case ScalarFunction::negate: return real(-a);
      case ScalarFunction::absolute: return real(std::abs(a));
      case ScalarFunction::sign: return real(a != a ? a : (a > 0 ? 1.0 : (a < 0 ? -1.0 : 0.0)));
      case ScalarFunction::floor: return real(std::floor(a));
      case ScalarFunction::ceil: return real(std::ceil(a));
      case ScalarFunction::round: return real(std::nearbyint(a));
      case ScalarFunction::exp: return real(std::exp(a));
      case ScalarFunction::log: return real(std::log(a));
      case ScalarFunction::sqrt: return real(std::sqrt(a));
      case ScalarFunction::reciprocal: return real(1 / a);
      case ScalarFunction::sin: return real(std::sin(a));
      case ScalarFunction::cos: return real(std::cos(a));
      case ScalarFunction::tan: return real(std::tan(a));
      case ScalarFunction::asin: return real(std::asin(a));
      case ScalarFunction::acos: return real(std::acos(a));
      case ScalarFunction::atan: return real(std::atan(a));
      case ScalarFunction::sinh: return real(std::sinh(a));
      case ScalarFunction::cosh: return real(std::cosh(a));
      case ScalarFunction::tanh: return real(std::tanh(a));
      case ScalarFunction::asinh: return real(std::asinh(a));
      case ScalarFunction::acosh: return real(std::acosh(a));
      case ScalarFunction::atanh: return real(std::atanh(a));
      case ScalarFunction::erf: return real(std::erf(a));
      case ScalarFunction::is_nan: return truth(std::isnan(a));
      case ScalarFunction::is_infinite: return truth(std::isinf(a));
      case ScalarFunction::none: break;
    }
    return {false, 0, 0};
  }

  static Scalar combine_integers(const ExpressionNode& node, DataType operand, std::int64_t a,
                                 std::int64_t b) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    const bool wide = operand == DataType::u64;
    auto integer = [](auto value) { return Scalar{true, 0, static_cast<std::int64_t>(value)}; };
    const bool divides = node.kind == Kind::divide || node.kind == Kind::floor_divide ||
                         node.kind == Kind::floor_modulo || node.kind == Kind::truncated_modulo;
    if (divides && b == 0) return {false, 0, 0};
    if (divides && wide)
      return integer(node.kind == Kind::divide || node.kind == Kind::floor_divide ? x / y : x % y);
    if (divides && b == -1)
      return integer(node.kind == Kind::divide || node.kind == Kind::floor_divide ? 0 - x : 0);
    switch (node.kind) {
      case Kind::add: return integer(x + y);
      case Kind::subtract: return integer(x - y);
      case Kind::multiply: return integer(x * y);
      case Kind::divide: return integer(a / b);
      case Kind::truncated_modulo: return integer(a % b);
      case Kind::floor_divide: return integer(a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0));
      case Kind::floor_modulo: return integer(a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0));
      case Kind::power: {
        std::uint64_t result = 1, base = x;
        if (b < 0) return integer(a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0);
        for (std::int64_t e = b; e != 0; e >>= 1, base *= base)
          if ((e & 1) != 0) result *= base;
        return integer(result);
      }
      case Kind::minimum: return integer(wide ? (x < y ? a : b) : std::min(a, b));
      case Kind::maximum: return integer(wide ? (x < y ? b : a) : std::max(a, b));
      case Kind::equal: return truth(a == b);
      case Kind::less: return truth(wide ? x < y : a < b);
      case Kind::less_equal: return truth(wide ? x <= y : a <= b);
      case Kind::logical_or: return truth(a != 0 || b != 0);
      case Kind::logical_not: return truth(a == 0);
      case Kind::bit_and: return integer(a & b);
      case Kind::bit_or: return integer(a | b);
      case Kind::bit_xor: return integer(a ^ b);
      case Kind::shift_left: return integer(b < 0 || b > 63 ? 0 : x << b);
      case Kind::shift_right:
        if (b < 0 || b > 63) return integer(!wide && a < 0 ? -1 : 0);
        return wide ? integer(x >> b) : integer(a >> b);
      default: break;
    }
    switch (node.function) {
      case ScalarFunction::negate: return integer(0 - x);
      case ScalarFunction::absolute: return integer(a < 0 && !wide ? 0 - x : x);
      case ScalarFunction::sign:
        return integer(wide ? (x != 0 ? 1 : 0) : (a > 0 ? 1 : (a < 0 ? -1 : 0)));
      case ScalarFunction::is_nan:
      case ScalarFunction::is_infinite: return truth(false);
      default: return integer(a);
    }
  }

  const Definition& definition_;
  std::vector<std::int64_t> variables_;
  std::vector<Sizes> sizes_;
  std::vector<std::vector<double>> reals_;
  std::vector<std::vector<std::int64_t>> integers_;
};

inline Result<std::vector<Tensor>> evaluate(const Definition& definition,
                                            std::span<const Tensor> inputs) {
  ScalarEvaluator evaluator(definition, inputs);
  std::vector<Tensor> outputs;
  for (const DefinedOutput& output : definition.outputs()) {
    LEMMA_ASSIGN_OR_RETURN(Tensor tensor, evaluator.output(output));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

}  // namespace lemma::interpreter::reference
