#include "facts/expression_facts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "facts/facts_arithmetic.h"
#include "facts/window_coverage.h"
#include "ir/constant_expression.h"

namespace lemma {
namespace {

using Kind = ExpressionKind;

bool is_integer_kind(DataType type) { return !is_real(type); }

/// Marks expressions that are computed from elements. Operands come before their users.
std::vector<char> mark_elements(const Definition& definition) {
  std::vector<char> result;
  for (const ExpressionNode& node : definition.nodes()) {
    bool any = node.kind == Kind::read;
    for (const ExpressionId operand : node.operands) any = any || result[operand.v] != 0;
    result.push_back(any ? 1 : 0);
  }
  return result;
}

class Interpreter {
 public:
  Interpreter(const Definition& definition, const DefinitionFactsInput& input)
      : definition_(definition),
        input_(input),
        from_elements_(mark_elements(definition)),
        known_(definition.nodes().size()) {}

  ValueFacts output(const DefinedOutput& output) {
    for (const VariableId axis : output.axes) axes_.push_back(axis);
    if (input_.sizes != nullptr) sizes_ = *input_.sizes;
    Shape shape;
    for (const VariableId axis : output.axes) shape.push_back(definition_.extent(axis));
    assume_elements(shape, sizes_);
    root_ = output.value;
    ValueFacts result = of(output.value);
    if (work_ > most_work) result = {};
    const DataType type = definition_.node(output.value).type;
    ValueFacts stored = result;
    enter_type_range(type, stored);
    return stored;
  }

 private:
  static constexpr std::size_t most_work = 20'000;

  const ExpressionNode& node(ExpressionId id) const { return definition_.node(id); }

  // ---- Sizes

  double least(const Dimension& size) const {
    const auto low = lower_bound(sizes_.empty() ? size : substitute(size, sizes_));
    return low ? std::max(0.0, static_cast<double>(*low)) : 0.0;
  }
  double most(const Dimension& size) const {
    const auto low = lower_bound(Dimension(0) - size);
    return low ? -static_cast<double>(*low) : HUGE_VAL;
  }

  // ---- Expressions

  ValueFacts of(ExpressionId id) {
    if (known_[id.v]) return *known_[id.v];
    if (++work_ > most_work) return {};
    ValueFacts result = compute(id);
    for (const auto& [refined, facts] : refinements_)
      if (same(refined, id)) result = both(result, facts);
    known_[id.v] = result;
    return result;
  }

  /// One element: the same expression, or the same place of operands that are one value.
  bool same(ExpressionId a, ExpressionId b) const {
    if (a == b) return true;
    const ExpressionNode &x = node(a), &y = node(b);
    return x.kind == Kind::read && y.kind == Kind::read && x.operands == y.operands &&
           x.type == y.type && x.input < input_.identities.size() &&
           y.input < input_.identities.size() &&
           input_.identities[x.input] == input_.identities[y.input];
  }

  ValueFacts compute(ExpressionId id) {
    const ExpressionNode& e = node(id);
    if (const auto number = constant_value(definition_, id)) return facts::number(*number);
    const bool integer = is_integer_kind(e.type);
    const auto operand = [&](std::size_t k) { return of(e.operands[k]); };
    switch (e.kind) {
      case Kind::real_parameter: return facts::of_symbol(e.integer);
      case Kind::integer_constant: return integer_constant(e);
      case Kind::real_constant: return facts::number(e.real);
      case Kind::extent: return facts::range(least(e.extent), most(e.extent));
      case Kind::index: return facts::range(0, most(definition_.extent(e.variable)) - 1);
      case Kind::read: return read(e);
      case Kind::add: return facts::add(operand(0), operand(1), integer);
      case Kind::subtract: return facts::subtract(operand(0), operand(1), integer);
      case Kind::multiply:
        if (same(e.operands[0], e.operands[1])) return facts::square(operand(0), integer);
        return facts::multiply(operand(0), operand(1), integer);
      case Kind::divide: return facts::divide(operand(0), operand(1), integer);
      case Kind::floor_divide: return facts::floor_divide(operand(0), operand(1));
      case Kind::floor_modulo: return facts::modulo(operand(0), operand(1), false, integer);
      case Kind::truncated_modulo: return facts::modulo(operand(0), operand(1), true, integer);
      case Kind::power: return facts::power(operand(0), operand(1), integer);
      case Kind::minimum: return facts::minimum(operand(0), operand(1));
      case Kind::maximum: return facts::maximum(operand(0), operand(1));
      case Kind::equal:
      case Kind::less:
      case Kind::less_equal: return compare(e.kind, operand(0), operand(1));
      case Kind::logical_and: return conjunction(e);
      case Kind::logical_or: return disjunction(operand(0), operand(1));
      case Kind::logical_not: return negation(operand(0));
      case Kind::bit_and:
      case Kind::bit_or:
      case Kind::bit_xor: return bits_of(e.type, operand(0), operand(1), true);
      case Kind::shift_left:
      case Kind::shift_right: {
        const ValueFacts places = operand(1);
        return bits_of(e.type, operand(0), places, places.lower >= 0 && places.upper < 64);
      }
      case Kind::select: return select(e);
      case Kind::cast: return cast(operand(0), node(e.operands[0]).type, e.type);
      case Kind::function: return facts::apply(e.function, operand(0));
      case Kind::sum:
      case Kind::product:
      case Kind::minimum_over:
      case Kind::maximum_over: return reduce(id);
    }
    return {};
  }

  static ValueFacts integer_constant(const ExpressionNode& e) {
    if (e.type == DataType::u64 && e.integer < 0)
      return facts::number(static_cast<double>(static_cast<std::uint64_t>(e.integer)));
    // Beyond 2^53 the nearest double may be another number.
    const auto value = static_cast<double>(e.integer);
    if (std::abs(value) < 0x1p53) return facts::number(value);
    return facts::range(std::nextafter(value, -HUGE_VAL), std::nextafter(value, HUGE_VAL));
  }

  static ValueFacts truth(bool defined, bool may_be_false, bool may_be_true) {
    ValueFacts result = facts::range(may_be_false ? 0 : 1, may_be_true ? 1 : 0);
    result.defined = defined;
    return result;
  }
  static bool surely(const ValueFacts& condition) { return condition.lower >= 1; }
  static bool never(const ValueFacts& condition) { return condition.upper <= 0; }

  static ValueFacts compare(Kind kind, const ValueFacts& a, const ValueFacts& b) {
    const bool defined = a.defined && b.defined;
    if (kind == Kind::less) return truth(defined, !(a.upper < b.lower), a.lower < b.upper);
    if (kind == Kind::less_equal) return truth(defined, !(a.upper <= b.lower), a.lower <= b.upper);
    const bool apart = a.upper < b.lower || b.upper < a.lower ||
                       (a.nonzero && b.lower == 0 && b.upper == 0) ||
                       (b.nonzero && a.lower == 0 && a.upper == 0);
    const bool is_same = a.lower == a.upper && b.lower == b.upper && a.lower == b.lower;
    return truth(defined, !is_same, !apart);
  }

  /// Strict: both operands are read, unless the first is a guard on indices alone.
  ValueFacts conjunction(const ExpressionNode& e) {
    const ValueFacts a = of(e.operands[0]);
    if (never(a) && from_elements_[e.operands[0].v] == 0) return a;
    const bool guards =
        from_elements_[e.operands[0].v] == 0 && from_elements_[e.operands[1].v] != 0;
    const ValueFacts b = guards ? under(e.operands[0], true, e.operands[1]) : of(e.operands[1]);
    return truth(a.defined && b.defined, !surely(a) || !surely(b), !never(a) && !never(b));
  }
  static ValueFacts disjunction(const ValueFacts& a, const ValueFacts& b) {
    return truth(a.defined && b.defined, !surely(a) && !surely(b), !never(a) || !never(b));
  }
  static ValueFacts negation(const ValueFacts& a) {
    return truth(a.defined, !never(a), !surely(a));
  }

  static ValueFacts bits_of(DataType type, const ValueFacts& a, const ValueFacts& b, bool inside) {
    ValueFacts result = facts::range(-0x1p63, 0x1p64);
    result.defined = a.defined && b.defined && inside;
    if (type == DataType::boolean) enter_type_range(type, result);
    return result;
  }

  static ValueFacts cast(ValueFacts a, DataType from, DataType to) {
    if (to == DataType::boolean)
      return truth(a.defined, a.may_be_zero(), !(a.lower == 0 && a.upper == 0));
    if (is_real(to)) return a;
    if (!is_real(from)) {
      enter_type_range(to, a);
      return a;
    }
    ValueFacts limits = facts::range(-HUGE_VAL, HUGE_VAL);
    enter_type_range(to, limits);
    const bool fits = a.finite() && a.lower >= limits.lower && a.upper <= limits.upper &&
                      std::abs(a.lower) < 0x1p62 && std::abs(a.upper) < 0x1p62;
    ValueFacts result = fits ? facts::range(std::trunc(a.lower), std::trunc(a.upper)) : limits;
    result.defined = a.defined && fits;
    return result;
  }

  // ---- Reads

  ValueFacts read(const ExpressionNode& e) {
    ValueFacts result = e.input < input_.operands.size() ? input_.operands[e.input] : ValueFacts();
    for (std::size_t axis = 0; axis < e.operands.size(); ++axis) {
      // The index itself has to be defined.
      const ValueFacts index = of(e.operands[axis]);
      result.defined = result.defined && index.defined && stays_inside(e, axis, index);
    }
    return result;
  }

  bool stays_inside(const ExpressionNode& e, std::size_t axis, const ValueFacts& index) {
    if (input_.reads == Reads::succeed) return true;
    const bool computed = from_elements_[e.operands[axis].v] != 0;
    // Sums, products and divisions of positions alone are movements, which shape inference has
    // checked.
    if (!computed && is_movement(e.operands[axis])) return true;
    const auto size = shape_of_input(e, axis);
    return size && index.lower >= 0 && index.upper <= least(*size) - 1;
  }

  bool is_movement(ExpressionId id) const {
    const ExpressionNode& e = node(id);
    switch (e.kind) {
      case Kind::integer_constant:
      case Kind::extent:
      case Kind::index: return true;
      case Kind::add:
      case Kind::subtract:
      case Kind::multiply:
      case Kind::floor_divide:
      case Kind::floor_modulo: return is_movement(e.operands[0]) && is_movement(e.operands[1]);
      default: return false;
    }
  }

  std::optional<Dimension> shape_of_input(const ExpressionNode& e, std::size_t axis) const {
    if (input_.shapes.size() <= e.input || axis >= input_.shapes[e.input].size())
      return std::nullopt;
    return input_.shapes[e.input][axis];
  }

  // ---- Branches

  /// The facts of an expression where a condition holds, or where it does not.
  ValueFacts under(ExpressionId condition, bool holds, ExpressionId id) {
    const std::size_t before = refinements_.size();
    refine(condition, holds);
    if (refinements_.size() == before) return of(id);
    std::vector<std::optional<ValueFacts>> outside(known_.size());
    outside.swap(known_);
    const ValueFacts result = of(id);
    outside.swap(known_);
    refinements_.resize(before);
    return result;
  }

  void refine(ExpressionId condition, bool holds) {
    const ExpressionNode& c = node(condition);
    if (c.kind == Kind::logical_and && holds) {
      refine(c.operands[0], true);
      refine(c.operands[1], true);
    } else if (c.kind == Kind::logical_or && !holds) {
      refine(c.operands[0], false);
      refine(c.operands[1], false);
    } else if (c.kind == Kind::logical_not) {
      refine(c.operands[0], !holds);
    } else if (c.kind == Kind::less || c.kind == Kind::less_equal) {
      // Not (a < b) is b <= a.
      const bool strict = (c.kind == Kind::less) == holds;
      const ExpressionId low = c.operands[holds ? 0 : 1], high = c.operands[holds ? 1 : 0];
      const bool integer = !is_real(node(low).type) && node(low).type != DataType::u64;
      refine_order(low, high, strict, integer);
    } else if (c.kind == Kind::equal && !holds) {
      refine_unequal(c.operands[0], c.operands[1]);
      refine_unequal(c.operands[1], c.operands[0]);
    }
  }

  void refine_order(ExpressionId low, ExpressionId high, bool strict, bool integer) {
    const ValueFacts a = of(low), b = of(high);
    const bool small = std::abs(a.lower) < 0x1p52 && std::abs(b.upper) < 0x1p52;
    const double step = strict && integer && small ? 1 : 0;
    ValueFacts below_b, above_a;
    below_b.upper = b.upper - step;
    below_b.nonzero = strict && b.upper <= 0;
    above_a.lower = a.lower + step;
    above_a.nonzero = strict && a.lower >= 0;
    refinements_.emplace_back(low, below_b);
    refinements_.emplace_back(high, above_a);
  }

  void refine_unequal(ExpressionId id, ExpressionId other) {
    const ValueFacts b = of(other);
    if (b.lower != 0 || b.upper != 0) return;
    ValueFacts nonzero;
    nonzero.nonzero = true;
    refinements_.emplace_back(id, nonzero);
  }

  ValueFacts select(const ExpressionNode& e) {
    const ValueFacts condition = of(e.operands[0]);
    ValueFacts result;
    if (surely(condition))
      result = under(e.operands[0], true, e.operands[1]);
    else if (never(condition))
      result = under(e.operands[0], false, e.operands[2]);
    else
      result = either(under(e.operands[0], true, e.operands[1]),
                      under(e.operands[0], false, e.operands[2]));
    result.defined = result.defined && condition.defined;
    return result;
  }

  // ---- Reductions

  /// A body that is a value where a guard holds, and else a number that changes nothing.
  struct Guarded {
    ExpressionId guard, value, otherwise;
  };
  std::optional<Guarded> guarded(ExpressionId body) const {
    const ExpressionNode& e = node(body);
    if (e.kind != Kind::select) return std::nullopt;
    return Guarded{e.operands[0], e.operands[1], e.operands[2]};
  }

  /// Whether it is the largest or least value of the type: neutral for a minimum or maximum.
  bool is_neutral(ExpressionId id, Kind kind) const {
    const ExpressionNode& e = node(id);
    const bool smallest = kind == Kind::maximum_over;
    if (e.kind == Kind::real_constant) return e.real == (smallest ? -HUGE_VAL : HUGE_VAL);
    if (e.kind != Kind::integer_constant) return false;
    ValueFacts range = facts::range(-HUGE_VAL, HUGE_VAL);
    enter_type_range(e.type, range);
    const ValueFacts value = integer_constant(e);
    return smallest ? value.lower <= range.lower : value.upper >= range.upper;
  }

  ValueFacts neutral(DataType type, Kind kind) const {
    ValueFacts range = facts::range(-HUGE_VAL, HUGE_VAL);
    enter_type_range(type, range);
    const double value = kind == Kind::maximum_over ? range.lower : range.upper;
    return facts::number(value);
  }

  ValueFacts reduce(ExpressionId id) {
    const ExpressionNode& e = node(id);
    double fewest = 1, count = 1;
    for (const VariableId variable : e.bound) {
      fewest *= least(definition_.extent(variable));
      const double size = most(definition_.extent(variable));
      count = size == 0 || count == 0 ? 0 : count * size;
    }
    auto parts = guarded(e.operands[0]);
    const bool extreme_value = e.kind == Kind::minimum_over || e.kind == Kind::maximum_over;
    // Otherwise it is a term like all others.
    if (parts && extreme_value && !is_neutral(parts->otherwise, e.kind)) parts.reset();
    const bool reached =
        fewest >= 1 && (!parts || some_position_passes(definition_, parts->guard, e.bound, sizes_));
    const bool integer = is_integer_kind(e.type);
    const ValueFacts body = of(e.operands[0]);
    if (e.kind == Kind::product) return facts::product(body, integer);
    if (e.kind == Kind::sum) {
      ValueFacts result = facts::sum(body, fewest, count, integer);
      if (parts && reached) at_least_one(of(parts->value), of(parts->otherwise), result);
      return result;
    }
    return extreme(id, body, parts, reached);
  }

  /// Notes what holds of a sum: one term is that of the guard, and the others are not negative.
  static void at_least_one(const ValueFacts& value, const ValueFacts& otherwise,
                           ValueFacts& result) {
    if (!value.positive() || !otherwise.nonnegative()) return;
    result.lower = std::max(result.lower, value.lower);
    result.nonzero = true;
  }

  ValueFacts extreme(ExpressionId id, const ValueFacts& body, const std::optional<Guarded>& parts,
                     bool reached) {
    const ExpressionNode& e = node(id);
    ValueFacts result = body;
    if (parts && reached) {
      const bool defined = body.defined;
      result = under(parts->guard, true, parts->value);
      result.defined = defined;
    }
    if (reached) return result;
    // A result of nothing is undefined; inside an operator it is the neutral element.
    result = either(result, neutral(e.type, e.kind));
    if (id == root_) result.defined = false;
    return result;
  }

  const Definition& definition_;
  const DefinitionFactsInput& input_;
  std::vector<char> from_elements_;
  std::vector<std::optional<ValueFacts>> known_;  // under the refinements that hold now
  std::vector<std::pair<ExpressionId, ValueFacts>> refinements_;
  std::vector<VariableId> axes_;
  DimensionBindings sizes_;
  ExpressionId root_;
  std::size_t work_ = 0;
};

}  // namespace

void enter_type_range(DataType type, ValueFacts& facts) {
  if (is_real(type)) return;
  facts.plus_infinity = facts.minus_infinity = false;
  double low = 0, high = 1;
  if (type != DataType::boolean) {
    const bool has_sign = !is_unsigned_integer(type) && !is_narrow(type);
    high = std::ldexp(1.0, bits(type) - (has_sign ? 1 : 0));
    low = has_sign ? -high : 0;
    if (bits(type) < 64) high -= 1;
  }
  if (facts.lower >= low && facts.upper <= high) return;
  if (facts.lower != -HUGE_VAL || facts.upper != HUGE_VAL) facts.nonzero = false;
  facts.lower = low;
  facts.upper = high;
}

bool has_computed_reads(const Definition& definition) {
  const std::vector<char> from_elements = mark_elements(definition);
  for (const ExpressionNode& node : definition.nodes()) {
    if (node.kind != Kind::read) continue;
    for (const ExpressionId index : node.operands)
      if (from_elements[index.v] != 0) return true;
  }
  return false;
}

void assume_elements(const Shape& shape, DimensionBindings& sizes) {
  for (const Dimension& size : shape)
    if (const auto symbol = size.as_symbol())
      sizes.insert_or_assign(*symbol, Dimension::symbol(*symbol) + 1);
}

ValueFacts facts_of_output(const Definition& definition, const DefinedOutput& output,
                           const DefinitionFactsInput& input) {
  return Interpreter(definition, input).output(output);
}

}  // namespace lemma
