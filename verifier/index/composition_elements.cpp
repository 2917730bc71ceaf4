// The arithmetic of definitions (declared in verifier/index/composer.h).

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "ir/constant_expression.h"
#include "verifier/index/composer.h"
#include "verifier/index/solver.h"

namespace lemma::verifier::index {

Pieces Composer::real(const Scope& scope, ExpressionId id, const Formula& path, int width) {
  const ExpressionNode& node = scope.definition.node(id);
  if (node.type == DataType::boolean && node.kind != Kind::read && node.kind != Kind::select)
    return truth(condition(scope, id, path));
  if (kernels_ != nullptr && is_rounded(node)) return rounded(scope, node, path);
  const auto operand = [&](std::size_t i) { return real(scope, node.operands[i], path, width); };
  const auto exact = [&](Pieces value) { return as_stored(scope, id, std::move(value), width); };
  const auto difference = [](const Polynomial& a, const Polynomial& b) {
    return add(a, scale(b, -1));
  };
  switch (node.kind) {
    case Kind::integer_constant: return {{always(), whole(node.integer)}};
    case Kind::real_constant: return {{always(), number(node.real)}};
    case Kind::real_parameter: return {{always(), parameter(node)}};
    case Kind::extent: return {{always(), size(node.extent)}};
    case Kind::index: return {{always(), size(scope.variables[node.variable.v])}};
    case Kind::read: return read_at(scope, node, path, width);
    case Kind::add: return exact(combine(operand(0), operand(1), add));
    case Kind::subtract: return exact(combine(operand(0), operand(1), difference));
    case Kind::multiply: return exact(combine(operand(0), operand(1), multiply));
    case Kind::minimum:
      return combine(exactly(scope, node, 0, path), exactly(scope, node, 1, path),
                     [](const Polynomial& a, const Polynomial& b) {
                       return scale(greater(scale(a, -1), scale(b, -1)), -1);
                     });
    case Kind::maximum:
      return combine(exactly(scope, node, 0, path), exactly(scope, node, 1, path), greater);
    case Kind::divide:
      return is_real(node.type) ? divided(scope, node, operand(0), operand(1), path)
                                : of_integers(scope, node, path);
    case Kind::floor_divide:
    case Kind::floor_modulo:
    case Kind::truncated_modulo:
    case Kind::bit_and:
    case Kind::bit_or:
    case Kind::bit_xor:
    case Kind::shift_left:
    case Kind::shift_right: return of_integers(scope, node, path);
    case Kind::power: return powers(scope, node, path);
    case Kind::select: return selected(scope, node, path, width, false);
    case Kind::cast: return converted(scope, node, path, width);
    case Kind::function: return applied(scope, id, path, width);
    case Kind::sum: return exact(sum(scope, node, path, width));
    case Kind::product: return product(scope, node, path);
    case Kind::maximum_over: return greatest(scope, node, path, 1, false);
    case Kind::minimum_over:
      return map(greatest(scope, node, path, -1, false),
                 [](const Polynomial& a) { return scale(a, -1); });
    default: throw Unsupported(fmt::format("'{}' of elements", name(node.kind)));
  }
}

Pieces Composer::read_at(const Scope& scope, const ExpressionNode& node, const Formula& path,
                         int width) {
  struct Place {
    Formula guard = always();
    std::vector<Dimension> indices;
  };
  const ValueId value = scope.node.inputs[node.input];
  std::vector<Place> places = {{}};
  for (std::size_t axis = 0; axis < node.operands.size(); ++axis) {
    std::vector<Place> more;
    for (const auto& [guard, index] : positions(scope, node.operands[axis], path))
      for (Place place : places) {
        place.guard = both(place.guard, guard);
        place.indices.push_back(index);
        if (!is_never(place.guard)) more.push_back(std::move(place));
      }
    places = std::move(more);
  }
  Pieces result;
  for (const Place& place : places) {
    const Formula inside = both(path, place.guard);
    for (std::size_t axis = 0; axis < node.operands.size(); ++axis)
      if (reads(scope.definition, node.operands[axis]))
        note_index(place.indices[axis], (*graph_.type(value).shape)[axis], inside);
    for (Piece& piece : element(value, place.indices, inside, width)) {
      const Formula whole = both(place.guard, piece.guard);
      if (!is_never(whole)) result.push_back({whole, std::move(piece.value)});
    }
  }
  return result;
}

std::vector<std::pair<Formula, Dimension>> Composer::positions(const Scope& scope, ExpressionId id,
                                                               const Formula& path) {
  if (!reads(scope.definition, id)) return {{always(), position(scope, id, path)}};
  std::map<std::string, std::pair<Formula, Pieces>> by_sizes;
  for (const Piece& piece : real(scope, id, path)) {
    std::vector<Formula> sizes, elements;
    const bool many = piece.guard->kind == FormulaNode::Kind::conjunction;
    for (const Formula& part : many ? piece.guard->parts : std::vector<Formula>{piece.guard})
      (mentions_elements(part) ? elements : sizes).push_back(part);
    const Formula guard = conjunction(std::move(sizes));
    auto& [whole, pieces] = by_sizes[guard->text];
    whole = guard;
    pieces.push_back({conjunction(std::move(elements)), piece.value});
  }
  // Guards that overlap would say two things of one index.
  std::vector<std::pair<Formula, Dimension>> result;
  for (auto& [text, group] : by_sizes) {
    for (const auto& [other, index] : result)
      if (!is_never(both(other, group.first))) return {{always(), as_index(real(scope, id, path))}};
    result.emplace_back(group.first, as_index(std::move(group.second)));
  }
  return result;
}

Pieces Composer::exactly(const Scope& scope, const ExpressionNode& node, std::size_t i,
                         const Formula& path) {
  return real(scope, node.operands[i], path);
}

// ---- Integers and functions --------------------------------------------------------------------

Pieces Composer::as_stored(const Scope& scope, ExpressionId id, Pieces value, int width) const {
  const DataType type = scope.definition.node(id).type;
  if (!is_integer(type) || width != 0 || !reads(scope.definition, id)) return value;
  return map(std::move(value), [&](const Polynomial& a) {
    if (fits(a, DataType::i64, input_types())) return a;
    if (type == DataType::u64) throw Unsupported("arithmetic with elements of u64");
    return wrapped(a, DataType::i64, input_types());
  });
}

Pieces Composer::of_integers(const Scope& scope, const ExpressionNode& node, const Formula& path) {
  const bool divides = node.kind == Kind::divide || node.kind == Kind::floor_divide ||
                       node.kind == Kind::floor_modulo || node.kind == Kind::truncated_modulo;
  if (!divides && !is_integer(node.type)) throw Unsupported("bits of other than integers");
  const Pieces a = exactly(scope, node, 0, path), b = exactly(scope, node, 1, path);
  if (divides) {
    if (const auto value = of_naturals(node, a, b, path)) return {{always(), size(*value)}};
  }
  const std::string function(name(node.kind));
  if (divides) note_partial(b, "inverse", path);
  return combine(a, b, [&](const Polynomial& x, const Polynomial& y) {
    const bool is_one = y.text == number(1).text;
    if (is_one && is_integer(node.type)) return divides_wholly(node.kind) ? x : number(0);
    if (divides && !divides_wholly(node.kind) && is_remainder_by(x, function, y)) return x;
    if (divides || node.kind == Kind::shift_left || node.kind == Kind::shift_right)
      return opaque(function, {x, y}, node.type);
    return bitwise(node, x, y);
  });
}

std::optional<Dimension> Composer::of_naturals(const ExpressionNode& node, const Pieces& a,
                                               const Pieces& b, const Formula& path) {
  if (a.size() != 1 || b.size() != 1) return std::nullopt;
  const auto dividend = as_dimension(a[0].value), divisor = as_dimension(b[0].value);
  if (!dividend || !divisor) return std::nullopt;
  std::vector<Formula> known = facts_;
  known.push_back(path);
  known.push_back(result_.range);
  if (!entails(known, both(less_equal(0, *dividend), less(0, *divisor)))) return std::nullopt;
  const Dimension whole = floor_of(*dividend, *divisor, path);
  return divides_wholly(node.kind) ? whole : valid(*dividend - *divisor * whole);
}

bool Composer::is_remainder_by(const Polynomial& x, const std::string& function,
                               const Polynomial& divisor) {
  const Factor* factor = only_factor(x);
  return factor != nullptr && factor->kind == Factor::Kind::opaque && factor->name == function &&
         factor->arguments[1].text == divisor.text;
}

bool Composer::divides_wholly(Kind kind) {
  return kind == Kind::divide || kind == Kind::floor_divide;
}

Polynomial Composer::bitwise(const ExpressionNode& node, const Polynomial& a, const Polynomial& b) {
  const auto inverted = [](const Polynomial& x) { return add(number(-1), scale(x, -1)); };
  if (node.kind == Kind::bit_or) {
    ExpressionNode dual = node;
    dual.kind = Kind::bit_and;
    return inverted(bitwise(dual, inverted(a), inverted(b)));
  }
  if (a.text == b.text) return node.kind == Kind::bit_and ? a : number(0);
  std::vector<Polynomial> arguments = {a, b};
  if (b.text < a.text) std::swap(arguments[0], arguments[1]);
  return opaque(std::string(name(node.kind)), std::move(arguments), DataType::i64);
}

bool Composer::reads(const Definition& definition, ExpressionId id) {
  const ExpressionNode& node = definition.node(id);
  return node.kind == Kind::read ||
         std::any_of(node.operands.begin(), node.operands.end(),
                     [&](ExpressionId operand) { return reads(definition, operand); });
}

void Composer::note_partial(const Pieces& argument, std::string_view function,
                            const Formula& path) {
  for (const Piece& piece : argument)
    result_.partial.push_back(
        {both(path, piece.guard), std::string(function), piece.value, bound_});
}

Pieces Composer::divided(const Scope& scope, const ExpressionNode& node, const Pieces& a,
                         const Pieces& b, const Formula& path) {
  const auto divisor = constant_value(scope.definition, node.operands[1]);
  if (!divisor || *divisor == 0 || !std::isfinite(*divisor)) note_partial(b, "inverse", path);
  return combine(a, map(b, inverse), multiply);
}

std::optional<std::int64_t> Composer::natural_exponent(const Pieces& b) {
  if (b.size() != 1 || b[0].value.terms.size() != 1) return std::nullopt;
  const Term& term = b[0].value.terms[0];
  const bool is_number = term.is_plain() && term.factors.empty();
  if (!is_number || term.coefficient < 1 || term.coefficient > 4) return std::nullopt;
  return term.coefficient;
}

Pieces Composer::powers(const Scope& scope, const ExpressionNode& node, const Formula& path) {
  if (!is_real(node.type)) throw Unsupported("a power of integers");
  const Pieces a = exactly(scope, node, 0, path), b = exactly(scope, node, 1, path);
  if (const auto exponent = natural_exponent(b)) {
    Pieces result = a;
    for (std::int64_t i = 1; i < *exponent; ++i) result = combine(result, a, multiply);
    return result;
  }
  const Pieces result = combine(a, b, power);
  note_partial(result, "power", path);
  return result;
}

Pieces Composer::applied(const Scope& scope, ExpressionId id, const Formula& path, int width) {
  using enum ScalarFunction;
  const ExpressionNode& node = scope.definition.node(id);
  if (!is_real(node.type)) return applied_to_integer(scope, id, path, width);
  Pieces argument = exactly(scope, node, 0, path);
  if (is_number(scope.definition, id) && node.function != round)
    return map(std::move(argument), [&](const Polynomial& a) { return apply(node.function, a); });
  switch (node.function) {
    case negate:
    case absolute:
    case exp:
    case sin:
    case cos:
    case atan:
    case sinh:
    case cosh:
    case tanh:
    case asinh:
    case erf:
    case sign:
    case floor:
    case ceil:
    case round: break;
    case reciprocal: note_partial(argument, "inverse", path); break;
    default: note_partial(argument, name(node.function), path);
  }
  return map(std::move(argument), [&](const Polynomial& a) { return apply(node.function, a); });
}

Pieces Composer::applied_to_integer(const Scope& scope, ExpressionId id, const Formula& path,
                                    int width) {
  const ExpressionNode& node = scope.definition.node(id);
  if (!is_integer(node.type)) throw Unsupported("a function of other than numbers");
  if (node.function == ScalarFunction::negate)
    return as_stored(scope, id,
                     map(real(scope, node.operands[0], path, width),
                         [](const Polynomial& a) { return scale(a, -1); }),
                     width);
  if (node.function != ScalarFunction::absolute)
    throw Unsupported(fmt::format("'{}' of integers", name(node.function)));
  return as_stored(scope, id,
                   map(exactly(scope, node, 0, path),
                       [](const Polynomial& a) { return greater(a, scale(a, -1)); }),
                   width);
}

Pieces Composer::selected(const Scope& scope, const ExpressionNode& node, const Formula& path,
                          int width, bool is_result) {
  const Formula chosen = condition(scope, node.operands[0], path);
  Pieces result;
  for (const auto& [guard, operand] :
       {std::pair(chosen, node.operands[1]), std::pair(negation(chosen), node.operands[2])}) {
    const Formula inside = both(path, guard);
    if (is_never(inside)) continue;
    for (Piece& piece : is_result ? result_of(scope, operand, inside, width)
                                  : real(scope, operand, inside, width)) {
      const Formula whole = both(guard, piece.guard);
      if (!is_never(whole)) result.push_back({whole, std::move(piece.value)});
    }
  }
  return result;
}

Pieces Composer::converted(const Scope& scope, const ExpressionNode& node, const Formula& path,
                           int width) {
  const DataType from = scope.definition.node(node.operands[0]).type, to = node.type;
  if (is_narrow(from) || is_narrow(to)) {
    if (from != to) throw Unsupported(fmt::format("a cast of {} to {}", name(from), name(to)));
    return real(scope, node.operands[0], path);
  }
  if (is_real(to) || from == DataType::boolean) return exactly(scope, node, 0, path);
  if (!is_integer(to)) throw Unsupported(fmt::format("a cast of {} to {}", name(from), name(to)));
  if (is_real(from))
    return map(exactly(scope, node, 0, path), [to](const Polynomial& a) {
      return opaque(fmt::format("truncated_{}", name(to)), {a}, to);
    });
  if (width != 0 && width <= bits(from) && width <= bits(to))
    return real(scope, node.operands[0], path, width);
  if (!reads(scope.definition, node.operands[0])) return exactly(scope, node, 0, path);
  return map(exactly(scope, node, 0, path),
             [&](const Polynomial& a) { return wrapped(a, to, input_types()); });
}

Polynomial Composer::greater(const Polynomial& a, const Polynomial& b) {
  const std::string least = number(-HUGE_VAL).text;
  if (a.text == least) return b;
  return b.text == least ? a : maximum(a, b);
}

}  // namespace lemma::verifier::index
