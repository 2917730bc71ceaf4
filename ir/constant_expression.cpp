#include "ir/constant_expression.h"

#include <cmath>

namespace lemma {
namespace {

using Kind = ExpressionKind;

std::optional<double> value_of(ScalarFunction function, double x) {
  switch (function) {
    case ScalarFunction::negate: return -x;
    case ScalarFunction::absolute: return std::abs(x);
    case ScalarFunction::floor: return std::floor(x);
    case ScalarFunction::ceil: return std::ceil(x);
    case ScalarFunction::exp: return std::exp(x);
    case ScalarFunction::log: return std::log(x);
    case ScalarFunction::sqrt: return std::sqrt(x);
    case ScalarFunction::reciprocal: return 1 / x;
    case ScalarFunction::sin: return std::sin(x);
    case ScalarFunction::cos: return std::cos(x);
    case ScalarFunction::atan: return std::atan(x);
    case ScalarFunction::tanh: return std::tanh(x);
    default: return std::nullopt;
  }
}

std::optional<double> value_of(Kind kind, double a, double b) {
  switch (kind) {
    case Kind::add: return a + b;
    case Kind::subtract: return a - b;
    case Kind::multiply: return a * b;
    case Kind::divide: return a / b;
    case Kind::power: return std::pow(a, b);
    case Kind::minimum: return std::isnan(a) || a < b ? a : b;
    case Kind::maximum: return std::isnan(a) || a > b ? a : b;
    default: return std::nullopt;
  }
}

Constant stored(DataType type, double value) {
  switch (type) {
    case DataType::f64: return Constant::of(type, {}, std::vector<double>{value});
    case DataType::f16:
      return Constant::of(type, {}, std::vector{f32_to_f16(static_cast<float>(value))});
    case DataType::bf16:
      return Constant::of(type, {}, std::vector{f32_to_bf16(static_cast<float>(value))});
    default: return Constant::of(DataType::f32, {}, std::vector<float>{static_cast<float>(value)});
  }
}

}  // namespace

std::optional<double> constant_value(const Definition& definition, ExpressionId id) {
  const ExpressionNode& node = definition.node(id);
  if (!is_real(node.type)) return std::nullopt;
  if (node.kind == Kind::real_constant) return node.real;
  if (node.kind == Kind::cast) {
    const ExpressionNode& from = definition.node(node.operands[0]);
    if (from.kind == Kind::integer_constant && from.type == DataType::i64)
      return static_cast<double>(from.integer);
    return constant_value(definition, node.operands[0]);
  }
  if (node.operands.empty() || node.operands.size() > 2 || is_reduction(node.kind))
    return std::nullopt;
  const auto first = constant_value(definition, node.operands[0]);
  if (!first) return std::nullopt;
  if (node.kind == Kind::function) return value_of(node.function, *first);
  if (node.operands.size() != 2) return std::nullopt;
  const auto second = constant_value(definition, node.operands[1]);
  return second ? value_of(node.kind, *first, *second) : std::nullopt;
}

Constant exact_scalar(DataType type,
                      const std::function<Expression(DefinitionBuilder&)>& expression) {
  DefinitionBuilder builder;
  builder.output({}, expression(builder));
  auto definition = std::make_shared<const Definition>(std::move(builder).finish());
  const auto value = constant_value(*definition, definition->outputs()[0].value);
  if (!value) return Constant::symbolic(type, std::move(definition));
  Constant result = stored(type, *value);
  const bool is_number = definition->nodes().size() == 1;
  if (is_number && (std::isnan(*value) || result.reals().front() == *value)) return result;
  return std::move(result).standing_for(std::move(definition));
}

}  // namespace lemma
