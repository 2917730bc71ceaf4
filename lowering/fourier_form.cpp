// The form of the sums of a Fourier transform: terms times cosines and sines of multiples of one angle.

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "lowering/algorithms.h"
#include "lowering/regions.h"

namespace lemma::lowering {

using Kind = ExpressionKind;

namespace {

/// cos or sin of an angle, as it is or brought to the type of the sum.
struct Wave {
  ScalarFunction function = ScalarFunction::none;
  TermNumber angle = 0;
};

std::optional<Wave> wave_of(const TermGraph& graph, TermNumber id) {
  const Term* term = &graph.term(id);
  if (term->kind == Kind::cast && is_real(term->type)) term = &graph.term(term->operands[0]);
  if (term->kind != Kind::function ||
      (term->function != ScalarFunction::cos && term->function != ScalarFunction::sin))
    return std::nullopt;
  return Wave{term->function, term->operands[0]};
}

/// A product of a factor with a wave.
struct Turned {
  TermNumber factor = 0;
  Wave wave;
};

std::optional<Turned> turned_of(const TermGraph& graph, TermNumber id) {
  const Term& term = graph.term(id);
  if (term.kind != Kind::multiply) return std::nullopt;
  for (const std::size_t side : {1U, 0U})
    if (const auto wave = wave_of(graph, term.operands[side]))
      return Turned{term.operands[1 - side], *wave};
  return std::nullopt;
}

/// A part of (real + i imaginary) * (cos + i sin): one product, or two.
struct TurnedPart {
  Turned first;
  std::optional<Turned> second;
};

std::optional<TurnedPart> turned_part_of(const TermGraph& graph, TermNumber id, Kind combination) {
  if (const auto single = turned_of(graph, id)) return TurnedPart{*single, std::nullopt};
  const Term& term = graph.term(id);
  if (term.kind != combination) return std::nullopt;
  const auto first = turned_of(graph, term.operands[0]),
             second = turned_of(graph, term.operands[1]);
  if (!first || !second || first->wave.angle != second->wave.angle) return std::nullopt;
  return TurnedPart{*first, *second};
}

/// Whether the part has these waves, in this order.
bool has_waves(const TurnedPart& part, ScalarFunction first, ScalarFunction second) {
  return part.first.wave.function == first &&
         (!part.second || part.second->wave.function == second);
}

/// The axis of which the first element has the one value and the second the other one.
std::optional<LoopVariable> axis_of_parts(const TermGraph& graph, TermNumber condition,
                                          const std::vector<LoopVariable>& axes) {
  const Term& term = graph.term(condition);
  if (term.kind != Kind::equal || !compares_linear(graph, term)) return std::nullopt;
  const Linear apart = difference(graph, term);
  if (apart.constant != 0 || apart.terms.size() != 1 || std::abs(apart.terms.front().second) != 1 ||
      apart.terms.front().first >= first_term_atom)
    return std::nullopt;
  const LoopVariable axis = apart.terms.front().first;
  if (std::find(axes.begin(), axes.end(), axis) == axes.end() || graph.extent(axis) != 2)
    return std::nullopt;
  return axis;
}

std::optional<LoopVariable> variable_of(const TermGraph& graph, TermNumber id) {
  const Linear form = graph.form(id);
  if (form.constant != 0 || form.terms.size() != 1 || form.terms.front().second != 1 ||
      form.terms.front().first >= first_term_atom)
    return std::nullopt;
  return form.terms.front().first;
}

/// The multiple of the angle, (axis * position) modulo the length: the axis, and the length.
struct Multiple {
  LoopVariable axis = 0;
  std::int64_t length = 0;
};

std::optional<Multiple> multiple_of(const TermGraph& graph, TermNumber id, LoopVariable position,
                                    const std::vector<LoopVariable>& axes) {
  const Linear form = graph.form(id);
  if (form.constant != 0 || form.terms.size() != 2) return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    const auto [product_atom, one] = form.terms[side];
    const auto [quotient_atom, factor] = form.terms[1 - side];
    if (one != 1 || product_atom < first_term_atom || quotient_atom < first_term_atom) continue;
    const Term &product = graph.term(product_atom - first_term_atom),
               &quotient = graph.term(quotient_atom - first_term_atom);
    if (product.kind != Kind::multiply || quotient.divisor <= 0 || factor != -quotient.divisor ||
        !(quotient.linear == Linear::atom(product_atom)))
      continue;
    for (const std::size_t which : {0U, 1U}) {
      const auto axis = variable_of(graph, product.operands[which]),
                 other = variable_of(graph, product.operands[1 - which]);
      if (axis && other && *other == position &&
          std::find(axes.begin(), axes.end(), *axis) != axes.end())
        return Multiple{*axis, quotient.divisor};
    }
  }
  return std::nullopt;
}

/// The multiple that an angle is of a whole turn's part, and which way the turn goes.
struct Angle {
  Multiple multiple;
  bool is_conjugate = false;
};

std::optional<Angle> angle_of(const TermGraph& graph, TermNumber id, LoopVariable position,
                              const std::vector<LoopVariable>& axes) {
  const Term& term = graph.term(id);
  if (term.kind != Kind::multiply || term.type != DataType::f64) return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    const Term &whole = graph.term(term.operands[side]),
               &step = graph.term(term.operands[1 - side]);
    if (whole.kind != Kind::cast || step.kind != Kind::real_constant) continue;
    const auto multiple = multiple_of(graph, whole.operands[0], position, axes);
    if (!multiple) continue;
    const double turn = std::bit_cast<double>(step.bits) * static_cast<double>(multiple->length);
    constexpr double whole_turn = 2 * std::numbers::pi, nearly = 1e-14;
    if (std::abs(std::abs(turn) - whole_turn) > nearly) continue;
    return Angle{*multiple, turn < 0};
  }
  return std::nullopt;
}

VariableSet dependences(const TermGraph& graph, const TurnedPart& part) {
  return graph.term(part.first.factor).depends |
         (part.second ? graph.term(part.second->factor).depends : 0);
}

}  // namespace

std::optional<FourierTransform> find_fourier_transform(const TermGraph& graph, TermNumber reduction,
                                                       const std::vector<LoopVariable>& axes) {
  const Term& sum = graph.term(reduction);
  constexpr std::int64_t least_length = 16;
  if (graph.domain() != Domain::native || sum.kind != Kind::sum || sum.bound.size() != 1 ||
      !is_real(sum.type))
    return std::nullopt;
  FourierTransform transform;
  transform.position = sum.bound.front();
  TermNumber in_phase = sum.operands[0];
  std::optional<TermNumber> out_of_phase;
  if (const Term& choice = graph.term(in_phase); choice.kind == Kind::select) {
    transform.parts = axis_of_parts(graph, choice.operands[0], axes);
    if (!transform.parts) return std::nullopt;
    in_phase = choice.operands[1];
    out_of_phase = choice.operands[2];
  }
  const auto real = turned_part_of(graph, in_phase, Kind::subtract);
  if (!real || !has_waves(*real, ScalarFunction::cos, ScalarFunction::sin)) return std::nullopt;
  transform.real = real->first.factor;
  if (real->second) transform.imaginary = real->second->factor;
  if (out_of_phase) {
    const auto imaginary = turned_part_of(graph, *out_of_phase, Kind::add);
    if (!imaginary || !has_waves(*imaginary, ScalarFunction::sin, ScalarFunction::cos) ||
        imaginary->first.wave.angle != real->first.wave.angle ||
        imaginary->first.factor != transform.real ||
        imaginary->second.has_value() != transform.imaginary.has_value() ||
        (imaginary->second && imaginary->second->factor != *transform.imaginary))
      return std::nullopt;
  }
  const auto angle = angle_of(graph, real->first.wave.angle, transform.position, axes);
  if (!angle) return std::nullopt;
  transform.axis = angle->multiple.axis;
  transform.length = angle->multiple.length;
  transform.is_conjugate = angle->is_conjugate;
  const VariableSet joint =
      set_of(transform.axis) | (transform.parts ? set_of(*transform.parts) : VariableSet{0});
  if (transform.length < least_length || graph.extent(transform.axis) > transform.length ||
      graph.extent(transform.position) > transform.length ||
      (dependences(graph, *real) & joint) != 0)
    return std::nullopt;
  return transform;
}

}  // namespace lemma::lowering
