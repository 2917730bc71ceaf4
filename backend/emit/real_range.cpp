#include "backend/emit/real_range.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lemma::backend {

using lowering::LaneKind;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

namespace {

RealRange of_constant(const Term& term) {
  double value = 0;
  if (term.lanes == LaneKind::f32)
    value = std::bit_cast<float>(static_cast<std::uint32_t>(term.bits));
  else if (term.lanes == LaneKind::f64)
    value = std::bit_cast<double>(term.bits);
  else
    return {};
  if (std::isnan(value)) return {};
  return {value, value};
}

/// Of functions that keep the order of what they are applied to.
RealRange of_function(ScalarFunction function, RealRange x) {
  switch (function) {
    case ScalarFunction::floor: return {std::floor(x.low), std::floor(x.high)};
    case ScalarFunction::ceil: return {std::ceil(x.low), std::ceil(x.high)};
    case ScalarFunction::round: return {std::nearbyint(x.low), std::nearbyint(x.high)};
    default: return {};
  }
}

/// Of what is computed in few steps.
RealRange range_of(const lowering::TermGraph& graph, TermNumber id, int steps) {
  if (steps == 0) return {};
  const Term& term = graph.term(id);
  const auto operand = [&](std::size_t i) { return range_of(graph, term.operands[i], steps - 1); };
  switch (term.kind) {
    case Kind::real_constant: return of_constant(term);
    case Kind::function: return of_function(term.function, operand(0));
    case Kind::minimum: {
      const RealRange a = operand(0), b = operand(1);
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    }
    case Kind::maximum: {
      const RealRange a = operand(0), b = operand(1);
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    }
    default: return {};
  }
}

}  // namespace

RealRange real_range(const lowering::TermGraph& graph, TermNumber id) {
  constexpr int most_steps = 8;
  return range_of(graph, id, most_steps);
}

}  // namespace lemma::backend
