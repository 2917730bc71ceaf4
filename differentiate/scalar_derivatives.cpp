#include "differentiate/scalar_derivatives.h"

namespace lemma::differentiate {

namespace {

using Kind = ExpressionKind;
using F = ScalarFunction;

/// Rounded to f64. As an expression it would be a root, of which a proof would have to show that it is defined.
constexpr double two_over_root_of_pi = 1.1283791670955126;

/// The adjoint of the argument of a function. Nothing where the function is constant but for jumps.
std::optional<Expression> through_function(DefinitionBuilder& d, F function, Expression x,
                                           Expression y, Expression g) {
  const auto unit = d.real(1, x.type());
  switch (function) {
    case F::negate: return d.apply(F::negate, g);
    case F::absolute: return g * d.apply(F::sign, x);
    case F::exp: return g * y;
    case F::log: return g / x;
    case F::sqrt: return g / (d.real(2, x.type()) * y);
    case F::reciprocal: return d.apply(F::negate, g * (y * y));
    case F::sin: return g * d.apply(F::cos, x);
    case F::cos: return d.apply(F::negate, g * d.apply(F::sin, x));
    case F::tan: return g * (unit + y * y);
    case F::asin: return g / d.apply(F::sqrt, unit - x * x);
    case F::acos: return d.apply(F::negate, g / d.apply(F::sqrt, unit - x * x));
    case F::atan: return g / (unit + x * x);
    case F::sinh: return g * d.apply(F::cosh, x);
    case F::cosh: return g * d.apply(F::sinh, x);
    case F::tanh: return g * (unit - y * y);
    case F::asinh: return g / d.apply(F::sqrt, x * x + unit);
    case F::acosh: return g / (d.apply(F::sqrt, x - unit) * d.apply(F::sqrt, x + unit));
    case F::atanh: return g / (unit - x * x);
    case F::erf:
      return g *
             (d.real(two_over_root_of_pi, x.type()) * d.apply(F::exp, d.apply(F::negate, x * x)));
    default:
      return std::
          nullopt;  // none, sign, floor, ceil, round; is_nan and is_infinite have no real result
  }
}

/// A power is 1 at the exponent 0, whatever the base; at the base 0 it does not depend on the exponent.
std::vector<StepAdjoint> through_power(DefinitionBuilder& d, Expression base, Expression exponent,
                                       Expression value, Expression g) {
  const Expression zero = d.real(0, base.type()), unit = d.real(1, base.type());
  const Expression slope = exponent * d.binary(Kind::power, base, exponent - unit);
  const Expression growth = value * d.apply(F::log, base);
  return {{0, d.select(exponent == zero, zero, g * slope)},
          {1, d.select(base == zero && zero <= exponent, zero, g * growth)}};
}

/// `a` is chosen where it is beyond `b`.
std::vector<StepAdjoint> through_extreme(DefinitionBuilder& d, const ExpressionNode& step,
                                         Expression a, Expression b, Expression g,
                                         const std::vector<bool>& varies,
                                         const Conventions& conventions) {
  const Expression zero = d.real(0, g.type());
  const bool maximum = step.kind == Kind::maximum;
  const Expression first = maximum ? b < a : a < b, second = maximum ? a < b : b < a;
  if (conventions.bounds == Conventions::Bounds::pass) {
    const Expression passes = maximum ? b <= a : a <= b;
    if (varies[0]) return {{0, d.select(passes, g, zero)}, {1, d.select(second, g, zero)}};
    return {{1, d.select(maximum ? a <= b : b <= a, g, zero)}};
  }
  const bool is_shared = conventions.bounds == Conventions::Bounds::share;
  if (!is_shared && (!varies[0] || !varies[1]))
    return {{0, d.select(first, g, zero)}, {1, d.select(second, g, zero)}};
  const Expression shared = g / d.real(2, g.type());
  return {{0, d.select(first, g, d.select(a == b, shared, zero))},
          {1, d.select(second, g, d.select(a == b, shared, zero))}};
}

std::vector<StepAdjoint> all_step_adjoints(DefinitionBuilder& d, const ExpressionNode& step,
                                           const std::vector<Expression>& x, Expression value,
                                           Expression g, const std::vector<bool>& varies,
                                           const Conventions& conventions) {
  const auto minus = [&d](Expression e) { return d.apply(F::negate, e); };
  switch (step.kind) {
    case Kind::add: return {{0, g}, {1, g}};
    case Kind::subtract: return {{0, g}, {1, minus(g)}};
    case Kind::multiply: return {{0, g * x[1]}, {1, g * x[0]}};
    case Kind::divide: return {{0, g / x[1]}, {1, minus(g * value / x[1])}};
    // a - b * whole, where `whole` has jumps only
    case Kind::truncated_modulo:
    case Kind::floor_modulo: return {{0, g}, {1, minus(g * ((x[0] - value) / x[1]))}};
    case Kind::power: return through_power(d, x[0], x[1], value, g);
    case Kind::minimum:
    case Kind::maximum: return through_extreme(d, step, x[0], x[1], g, varies, conventions);
    case Kind::select: {
      const Expression zero = d.real(0, g.type());
      return {{1, d.select(x[0], g, zero)}, {2, d.select(x[0], zero, g)}};
    }
    case Kind::cast:
      if (!is_real(x[0].type())) return {};
      return {{0, d.cast(g, x[0].type())}};
    case Kind::function:
      if (const auto inner = through_function(d, step.function, x[0], value, g))
        return {{0, *inner}};
      return {};
    default: return {};
  }
}

}  // namespace

std::vector<StepAdjoint> step_adjoints(DefinitionBuilder& builder, const ExpressionNode& step,
                                       const std::vector<Expression>& operands, Expression value,
                                       Expression adjoint, const std::vector<bool>& varies,
                                       const Conventions& conventions) {
  std::vector<StepAdjoint> result;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!varies[i] || !is_real(operands[i].type())) continue;
    bool any = true;
    const auto part_of = [&](Expression g) {
      for (const StepAdjoint& part :
           all_step_adjoints(builder, step, operands, value, g, varies, conventions))
        if (part.operand == i) return part.adjoint;
      any = false;
      return g;
    };
    const Expression part = under_conditions(builder, adjoint, part_of);
    if (any) result.push_back({i, part});
  }
  return result;
}

Expression sum_of_adjoints(DefinitionBuilder& builder, Expression a, Expression b) {
  const ExpressionNode x = builder.node(a.id()), y = builder.node(b.id());
  const bool alike = x.kind == Kind::select && y.kind == Kind::select &&
                     x.operands[0] == y.operands[0] && x.operands[2] == y.operands[2] &&
                     builder.node(x.operands[2]).kind == Kind::real_constant &&
                     builder.node(x.operands[2]).real == 0;
  if (!alike) return a + b;
  const Expression sum = sum_of_adjoints(builder, builder.expression(x.operands[1]),
                                         builder.expression(y.operands[1]));
  return builder.select(builder.expression(x.operands[0]), sum, builder.expression(x.operands[2]));
}

}  // namespace lemma::differentiate
