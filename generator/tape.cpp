#include "generator/tape.h"

#include <cmath>
#include <limits>

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include "ir/expand.h"

namespace lemma::generator {
namespace {

using Code = TapeInstruction::Code;

/// What an expression is at given indices.
struct Value {
  enum class Kind : std::uint8_t { integer, real, computed };
  Kind kind = Kind::integer;
  std::int64_t integer = 0;  // also booleans
  double real = 0;
  Register place = 0;
};
Value integer_value(std::int64_t value) { return {Value::Kind::integer, value, 0, 0}; }
Value real_value(double value) { return {Value::Kind::real, 0, value, 0}; }
Value computed(Register place) { return {Value::Kind::computed, 0, 0, place}; }

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

class TapeBuilder {
 public:
  Register new_registers(std::uint32_t count) {
    const Register first = tape_.register_count;
    tape_.register_count += count;
    return first;
  }

  Register constant(double value) {
    const auto [found, is_new] =
        constants_.try_emplace(std::bit_cast<std::uint64_t>(value), tape_.register_count);
    if (is_new) tape_.constants.emplace_back(new_registers(1), value);
    return found->second;
  }

  Register place_of(const Value& value) {
    if (value.kind == Value::Kind::computed) return value.place;
    return constant(value.kind == Value::Kind::real ? value.real
                                                    : static_cast<double>(value.integer));
  }

  Register add(Code code, Register a, Register b, Register c = 0,
               ScalarFunction function = ScalarFunction::none) {
    return intern({code, function, 0, a, b, c, 0, 0}, {});
  }
  Register add_list(Code code, const std::vector<Register>& list) {
    return intern({code, ScalarFunction::none, 0, 0, 0, 0, 0, 0}, list);
  }

  Tape& tape() { return tape_; }

 private:
  Register intern(TapeInstruction instruction, const std::vector<Register>& list) {
    std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(instruction.code),
                                      static_cast<std::uint32_t>(instruction.function),
                                      instruction.a, instruction.b, instruction.c};
    key.insert(key.end(), list.begin(), list.end());
    const auto [found, is_new] = interned_.try_emplace(std::move(key), tape_.register_count);
    if (!is_new) return found->second;
    instruction.result = new_registers(1);
    instruction.begin = static_cast<std::uint32_t>(tape_.lists.size());
    tape_.lists.insert(tape_.lists.end(), list.begin(), list.end());
    instruction.end = static_cast<std::uint32_t>(tape_.lists.size());
    tape_.code.push_back(instruction);
    return instruction.result;
  }

  Tape tape_;
  absl::flat_hash_map<std::uint64_t, Register> constants_;
  absl::flat_hash_map<std::vector<std::uint32_t>, Register> interned_;
};

/// The elements of a value of the graph.
struct Elements {
  std::vector<std::int64_t> sizes;
  std::vector<Register> places;
};

/// Unrolls one definition.
class Unroller {
 public:
  Unroller(TapeBuilder& builder, const Definition& definition, std::vector<Elements> inputs)
      : builder_(builder), definition_(definition), inputs_(std::move(inputs)) {
    variables_.resize(definition.variable_extents().size());
  }

  Result<Elements> output(std::size_t which) {
    const DefinedOutput& output = definition_.outputs()[which];
    Elements result;
    std::int64_t count = 1;
    for (const VariableId axis : output.axes) {
      result.sizes.push_back(extent(axis));
      count *= result.sizes.back();
    }
    for (std::int64_t element = 0; element < count; ++element) {
      std::int64_t rest = element;
      for (std::size_t axis = output.axes.size(); axis-- > 0;) {
        variables_[output.axes[axis].v] = rest % result.sizes[axis];
        rest /= result.sizes[axis];
      }
      LEMMA_ASSIGN_OR_RETURN(const Value value, evaluate(output.value));
      result.places.push_back(builder_.place_of(value));
    }
    return result;
  }

 private:
  std::int64_t extent(VariableId variable) const {
    return definition_.extent(variable).constant().value_or(0);
  }

  // Recursion follows the expressions of one record, which are small.
  Result<Value> evaluate(ExpressionId id) {
    const ExpressionNode& node = definition_.node(id);
    switch (node.kind) {
      case ExpressionKind::integer_constant:
        if (is_real(node.type)) return real_value(static_cast<double>(node.integer));
        return integer_value(node.integer);
      case ExpressionKind::real_constant: return real_value(node.real);
      case ExpressionKind::extent: return integer_value(node.extent.constant().value_or(0));
      case ExpressionKind::index: return integer_value(variables_[node.variable.v]);
      case ExpressionKind::read: return read(node);
      case ExpressionKind::select: return select(node);
      case ExpressionKind::logical_and: return logical(node, false);
      case ExpressionKind::logical_or: return logical(node, true);
      case ExpressionKind::cast: return cast(node);
      case ExpressionKind::function: return function(node);
      default: break;
    }
    if (is_reduction(node.kind)) return reduce(node);
    return arithmetic(node);
  }

  Result<Value> read(const ExpressionNode& node) {
    const Elements& input = inputs_[node.input];
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < node.operands.size(); ++axis) {
      LEMMA_ASSIGN_OR_RETURN(const Value index, evaluate(node.operands[axis]));
      if (index.kind != Value::Kind::integer) return unsupported("an index that is computed");
      if (index.integer < 0 || index.integer >= input.sizes[axis])
        return internal_error("a read outside its tensor");
      position = position * input.sizes[axis] + index.integer;
    }
    return computed(input.places[static_cast<std::size_t>(position)]);
  }

  Result<Value> select(const ExpressionNode& node) {
    LEMMA_ASSIGN_OR_RETURN(const Value condition, evaluate(node.operands[0]));
    if (condition.kind == Value::Kind::integer)
      return evaluate(node.operands[condition.integer != 0 ? 1 : 2]);
    LEMMA_ASSIGN_OR_RETURN(const Value then, evaluate(node.operands[1]));
    LEMMA_ASSIGN_OR_RETURN(const Value otherwise, evaluate(node.operands[2]));
    return computed(builder_.add(Code::select, condition.place, builder_.place_of(then),
                                 builder_.place_of(otherwise)));
  }

  Result<Value> logical(const ExpressionNode& node, bool decides) {
    LEMMA_ASSIGN_OR_RETURN(const Value a, evaluate(node.operands[0]));
    if (a.kind == Value::Kind::integer)
      return (a.integer != 0) == decides ? Result<Value>(a) : evaluate(node.operands[1]);
    LEMMA_ASSIGN_OR_RETURN(const Value b, evaluate(node.operands[1]));
    return computed(
        builder_.add(decides ? Code::maximum : Code::minimum, a.place, builder_.place_of(b)));
  }

  Result<Value> cast(const ExpressionNode& node) {
    LEMMA_ASSIGN_OR_RETURN(const Value a, evaluate(node.operands[0]));
    if (is_real(node.type))
      return a.kind == Value::Kind::integer ? real_value(static_cast<double>(a.integer)) : a;
    if (a.kind != Value::Kind::integer) return unsupported("a cast from real numbers to others");
    return a;
  }

  Result<Value> function(const ExpressionNode& node) {
    LEMMA_ASSIGN_OR_RETURN(const Value a, evaluate(node.operands[0]));
    if (a.kind == Value::Kind::integer && node.function == ScalarFunction::negate)
      return integer_value(-a.integer);
    if (a.kind == Value::Kind::integer) return unsupported("a function of an integer");
    return computed(builder_.add(Code::function, builder_.place_of(a), 0, 0, node.function));
  }

  Result<Value> arithmetic(const ExpressionNode& node) {
    LEMMA_ASSIGN_OR_RETURN(const Value a, evaluate(node.operands[0]));
    if (node.kind == ExpressionKind::logical_not) {
      if (a.kind == Value::Kind::integer) return integer_value(a.integer == 0 ? 1 : 0);
      return computed(builder_.add(Code::equal, a.place, builder_.constant(0)));
    }
    LEMMA_ASSIGN_OR_RETURN(const Value b, evaluate(node.operands[1]));
    if (a.kind == Value::Kind::integer && b.kind == Value::Kind::integer)
      return of_integers(node.kind, a.integer, b.integer);
    const auto code = code_of(node.kind);
    if (!code) return unsupported(fmt::format("'{}' of real numbers", name(node.kind)));
    return computed(builder_.add(*code, builder_.place_of(a), builder_.place_of(b)));
  }

  static std::optional<Code> code_of(ExpressionKind kind) {
    switch (kind) {
      case ExpressionKind::add: return Code::add;
      case ExpressionKind::subtract: return Code::subtract;
      case ExpressionKind::multiply: return Code::multiply;
      case ExpressionKind::divide: return Code::divide;
      case ExpressionKind::power: return Code::power;
      case ExpressionKind::minimum: return Code::minimum;
      case ExpressionKind::maximum: return Code::maximum;
      case ExpressionKind::equal: return Code::equal;
      case ExpressionKind::less: return Code::less;
      case ExpressionKind::less_equal: return Code::less_equal;
      default: return std::nullopt;
    }
  }

  static Result<Value> of_integers(ExpressionKind kind, std::int64_t a, std::int64_t b) {
    switch (kind) {
      case ExpressionKind::add: return integer_value(a + b);
      case ExpressionKind::subtract: return integer_value(a - b);
      case ExpressionKind::multiply: return integer_value(a * b);
      case ExpressionKind::minimum: return integer_value(std::min(a, b));
      case ExpressionKind::maximum: return integer_value(std::max(a, b));
      case ExpressionKind::equal: return integer_value(a == b);
      case ExpressionKind::less: return integer_value(a < b);
      case ExpressionKind::less_equal: return integer_value(a <= b);
      default: break;
    }
    if (b == 0) return unsupported("a division by zero");
    if (kind == ExpressionKind::divide) return integer_value(a / b);
    if (kind == ExpressionKind::floor_divide) return integer_value(floor_quotient(a, b));
    if (kind == ExpressionKind::floor_modulo) return integer_value(a - floor_quotient(a, b) * b);
    if (kind == ExpressionKind::truncated_modulo) return integer_value(a % b);
    return unsupported(fmt::format("'{}' of integers", name(kind)));
  }

  /// What a sum adds up: a product is taken apart, so that it need not be stored.
  struct Addend {
    bool nothing = false;
    Value a, b;  // b is 1 where the addend is no product
  };
  Result<Addend> addend(ExpressionId id) {
    const ExpressionNode* node = &definition_.node(id);
    while (node->kind == ExpressionKind::select) {
      LEMMA_ASSIGN_OR_RETURN(const Value condition, evaluate(node->operands[0]));
      if (condition.kind != Value::Kind::integer) break;
      id = node->operands[condition.integer != 0 ? 1 : 2];
      node = &definition_.node(id);
    }
    Addend result;
    result.b = real_value(1);
    if (node->kind == ExpressionKind::multiply && is_real(node->type)) {
      LEMMA_ASSIGN_OR_RETURN(result.a, evaluate(node->operands[0]));
      LEMMA_ASSIGN_OR_RETURN(result.b, evaluate(node->operands[1]));
      return result;
    }
    LEMMA_ASSIGN_OR_RETURN(result.a, evaluate(id));
    result.nothing = result.a.kind == Value::Kind::real && result.a.real == 0;
    return result;
  }

  Result<Value> reduce(const ExpressionNode& node) {
    if (!is_real(node.type)) return reduce_integers(node);
    std::vector<Register> list, factors;
    bool products = false;
    LEMMA_RETURN_IF_ERROR(for_each_index(node, [&]() -> Result<void> {
      if (node.kind == ExpressionKind::sum) {
        LEMMA_ASSIGN_OR_RETURN(const Addend term, addend(node.operands[0]));
        if (term.nothing) return {};
        products = products || !(term.b.kind == Value::Kind::real && term.b.real == 1);
        list.push_back(builder_.place_of(term.a));
        factors.push_back(builder_.place_of(term.b));
        return {};
      }
      LEMMA_ASSIGN_OR_RETURN(const Value term, evaluate(node.operands[0]));
      if (term.kind == Value::Kind::real && std::isinf(term.real)) return {};
      list.push_back(builder_.place_of(term));
      return {};
    }));
    return combine(node.kind, list, products ? factors : std::vector<Register>());
  }

  Result<Value> combine(ExpressionKind kind, std::vector<Register> list,
                        const std::vector<Register>& factors) {
    const double infinity = std::numeric_limits<double>::infinity();
    if (kind == ExpressionKind::sum) {
      if (list.empty()) return real_value(0);
      if (factors.empty()) return computed(builder_.add_list(Code::sum, list));
      std::vector<Register> pairs;
      for (std::size_t i = 0; i < list.size(); ++i) {
        pairs.push_back(list[i]);
        pairs.push_back(factors[i]);
      }
      return computed(builder_.add_list(Code::dot, pairs));
    }
    if (kind == ExpressionKind::product)
      return list.empty() ? real_value(1) : computed(builder_.add_list(Code::product, list));
    if (kind == ExpressionKind::maximum_over)
      return list.empty() ? real_value(-infinity)
                          : computed(builder_.add_list(Code::greatest, list));
    return list.empty() ? real_value(infinity) : computed(builder_.add_list(Code::least, list));
  }

  Result<Value> reduce_integers(const ExpressionNode& node) {
    std::int64_t result = node.kind == ExpressionKind::product ? 1 : 0;
    bool first = true;
    LEMMA_RETURN_IF_ERROR(for_each_index(node, [&]() -> Result<void> {
      LEMMA_ASSIGN_OR_RETURN(const Value term, evaluate(node.operands[0]));
      if (term.kind != Value::Kind::integer) return unsupported("a reduction to integers");
      const std::int64_t v = term.integer;
      if (node.kind == ExpressionKind::sum) result += v;
      if (node.kind == ExpressionKind::product) result *= v;
      if (node.kind == ExpressionKind::maximum_over) result = first ? v : std::max(result, v);
      if (node.kind == ExpressionKind::minimum_over) result = first ? v : std::min(result, v);
      first = false;
      return {};
    }));
    return integer_value(result);
  }

  template <typename Visit>
  Result<void> for_each_index(const ExpressionNode& node, const Visit& visit) {
    for (const VariableId variable : node.bound) {
      if (extent(variable) == 0) return {};
      variables_[variable.v] = 0;
    }
    while (true) {
      LEMMA_RETURN_IF_ERROR(visit());
      std::size_t i = node.bound.size();
      while (i > 0 && ++variables_[node.bound[i - 1].v] == extent(node.bound[i - 1]))
        variables_[node.bound[--i].v] = 0;
      if (i == 0) return {};
    }
  }

  TapeBuilder& builder_;
  const Definition& definition_;
  std::vector<Elements> inputs_;
  std::vector<std::int64_t> variables_;
};

std::int64_t count_of(const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

class GraphUnroller {
 public:
  explicit GraphUnroller(const Graph& graph) : graph_(graph), values_(graph.value_count()) {}

  Result<Tape> unroll() {
    for (const NodeId id : graph_.inputs()) LEMMA_RETURN_IF_ERROR(add_operand(id));
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      if (node.kind == NodeKind::input) continue;
      if (node.kind == NodeKind::operation)
        LEMMA_RETURN_IF_ERROR(add_operation(node));
      else if (node.kind == NodeKind::constant)
        LEMMA_RETURN_IF_ERROR(add_constant(id));
      else
        return unsupported("an opaque operator");
    }
    for (const GraphOutput& output : graph_.outputs())
      builder_.tape().outputs.push_back(values_[output.value.v].places);
    return std::move(builder_.tape());
  }

 private:
  Result<void> add_operand(NodeId id) {
    const ValueId value = graph_.node(id).output();
    const TensorType& type = graph_.type(value);
    if (!is_real(type.data_type)) return unsupported("an input that is not real");
    const auto sizes = constant_sizes(*type.shape);
    if (!sizes) return unsupported("a symbolic size");
    const auto count = static_cast<std::uint32_t>(count_of(*sizes));
    const Register first = builder_.new_registers(count);
    builder_.tape().operands.push_back(first);
    builder_.tape().operand_sizes.push_back(count);
    Elements& elements = values_[value.v];
    elements.sizes = *sizes;
    for (std::uint32_t i = 0; i < count; ++i) elements.places.push_back(first + i);
    return {};
  }

  Result<void> add_constant(NodeId id) {
    const ValueId value = graph_.node(id).output();
    const TensorType& type = graph_.type(value);
    if (!is_real(type.data_type)) return unsupported("a constant that is not real");
    Elements& elements = values_[value.v];
    elements.sizes = *constant_sizes(*type.shape);
    const std::vector<double> reals = graph_.constant(graph_.node(id)).reals();
    for (std::int64_t i = 0; i < count_of(elements.sizes); ++i)
      elements.places.push_back(builder_.constant(reals[static_cast<std::size_t>(i)]));
    return {};
  }

  Result<void> add_operation(const Node& node) {
    const std::vector<TensorType> types = graph_.input_types(node);
    const Instance instance{types, node.attributes, node.output_count};
    const Definition definition = graph_.op(node).define(instance);
    std::vector<Elements> inputs;
    for (const ValueId input : node.inputs)
      inputs.push_back(input.is_none() ? Elements() : values_[input.v]);
    Unroller unroller(builder_, definition, std::move(inputs));
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      if (!is_real(graph_.type(node.output(i)).data_type))
        return unsupported("a value that is not real");
      auto elements = unroller.output(i);
      if (!elements) return with_context(graph_.op(node).name, std::move(elements.error()));
      values_[node.output(i).v] = std::move(*elements);
    }
    return {};
  }

  const Graph& graph_;
  TapeBuilder builder_;
  std::vector<Elements> values_;
};

// ---- Running ----------------------------------------------------------------------------------

template <typename Real>
constexpr Real undefined = std::numeric_limits<Real>::quiet_NaN();

template <typename Real>
Real apply(ScalarFunction function, Real x) {
  switch (function) {
    case ScalarFunction::none: return x;
    case ScalarFunction::negate: return -x;
    case ScalarFunction::absolute: return std::abs(x);
    case ScalarFunction::sign: return x > 0 ? Real(1) : (x < 0 ? Real(-1) : x);
    case ScalarFunction::floor: return std::floor(x);
    case ScalarFunction::ceil: return std::ceil(x);
    case ScalarFunction::round: return std::nearbyint(x);
    case ScalarFunction::exp: return std::exp(x);
    case ScalarFunction::log: return std::log(x);
    case ScalarFunction::sqrt: return std::sqrt(x);
    case ScalarFunction::reciprocal: return Real(1) / x;
    case ScalarFunction::sin: return std::sin(x);
    case ScalarFunction::cos: return std::cos(x);
    case ScalarFunction::tan: return std::tan(x);
    case ScalarFunction::asin: return std::asin(x);
    case ScalarFunction::acos: return std::acos(x);
    case ScalarFunction::atan: return std::atan(x);
    case ScalarFunction::sinh: return std::sinh(x);
    case ScalarFunction::cosh: return std::cosh(x);
    case ScalarFunction::tanh: return std::tanh(x);
    case ScalarFunction::asinh: return std::asinh(x);
    case ScalarFunction::acosh: return std::acosh(x);
    case ScalarFunction::atanh: return std::atanh(x);
    case ScalarFunction::erf: return std::erf(x);
    case ScalarFunction::is_nan: return x != x ? Real(1) : Real(0);
    case ScalarFunction::is_infinite: return std::isinf(x) ? Real(1) : Real(0);
  }
  return x;
}

/// Undefined at zero, where IEEE arithmetic has infinities.
bool has_pole(ScalarFunction function) {
  return function == ScalarFunction::log || function == ScalarFunction::reciprocal;
}

template <typename Real>
Real larger(Real x, Real y) {
  return (x > y || x != x) ? x : y;
}
template <typename Real>
Real smaller(Real x, Real y) {
  return (x < y || x != x) ? x : y;
}

template <std::size_t lanes, typename Real, typename Function>
void each(Real* result, const Real* a, const Real* b, const Function& function) {
  for (std::size_t i = 0; i < lanes; ++i) result[i] = function(a[i], b[i]);
}

template <std::size_t lanes, typename Real, typename Function>
void fold(const Tape& tape, const TapeInstruction& at, Real* r, const Function& function) {
  Real total[lanes];
  const Real* first = r + tape.lists[at.begin] * lanes;
  for (std::size_t i = 0; i < lanes; ++i) total[i] = first[i];
  for (std::uint32_t k = at.begin + 1; k < at.end; ++k) {
    const Real* x = r + tape.lists[k] * lanes;
    for (std::size_t i = 0; i < lanes; ++i) total[i] = function(total[i], x[i]);
  }
  Real* out = r + at.result * lanes;
  for (std::size_t i = 0; i < lanes; ++i) out[i] = total[i];
}

template <std::size_t lanes, typename Real>
void dot(const Tape& tape, const TapeInstruction& at, Real* r) {
  Real total[lanes] = {};
  for (std::uint32_t k = at.begin; k < at.end; k += 2) {
    const Real* x = r + tape.lists[k] * lanes;
    const Real* y = r + tape.lists[k + 1] * lanes;
    for (std::size_t i = 0; i < lanes; ++i) total[i] += x[i] * y[i];
  }
  Real* out = r + at.result * lanes;
  for (std::size_t i = 0; i < lanes; ++i) out[i] = total[i];
}

}  // namespace

template <typename Real, std::size_t lanes>
void Tape::run(Real* r, Division division) const {
  const bool is_strict = division == Division::undefined_by_zero;
  for (const auto& [place, value] : constants)
    for (std::size_t i = 0; i < lanes; ++i) r[place * lanes + i] = static_cast<Real>(value);
  for (const TapeInstruction& at : code) {
    Real* out = r + at.result * lanes;
    const Real *a = r + at.a * lanes, *b = r + at.b * lanes, *c = r + at.c * lanes;
    switch (at.code) {
      case Code::add: each<lanes>(out, a, b, [](Real x, Real y) { return x + y; }); break;
      case Code::subtract: each<lanes>(out, a, b, [](Real x, Real y) { return x - y; }); break;
      case Code::multiply: each<lanes>(out, a, b, [](Real x, Real y) { return x * y; }); break;
      case Code::divide:
        if (is_strict)
          each<lanes>(out, a, b, [](Real x, Real y) { return y == 0 ? undefined<Real> : x / y; });
        else
          each<lanes>(out, a, b, [](Real x, Real y) { return x / y; });
        break;
      case Code::power:
        each<lanes>(out, a, b, [](Real x, Real y) { return std::pow(x, y); });
        break;
      case Code::minimum: each<lanes>(out, a, b, smaller<Real>); break;
      case Code::maximum: each<lanes>(out, a, b, larger<Real>); break;
      case Code::equal:
        each<lanes>(out, a, b, [](Real x, Real y) { return x == y ? Real(1) : Real(0); });
        break;
      case Code::less:
        each<lanes>(out, a, b, [](Real x, Real y) { return x < y ? Real(1) : Real(0); });
        break;
      case Code::less_equal:
        each<lanes>(out, a, b, [](Real x, Real y) { return x <= y ? Real(1) : Real(0); });
        break;
      case Code::select:
        for (std::size_t i = 0; i < lanes; ++i) out[i] = a[i] != 0 ? b[i] : c[i];
        break;
      case Code::function:
        for (std::size_t i = 0; i < lanes; ++i) out[i] = apply(at.function, a[i]);
        if (is_strict && has_pole(at.function))
          for (std::size_t i = 0; i < lanes; ++i) out[i] = a[i] == 0 ? undefined<Real> : out[i];
        break;
      case Code::sum: fold<lanes>(*this, at, r, [](Real x, Real y) { return x + y; }); break;
      case Code::product: fold<lanes>(*this, at, r, [](Real x, Real y) { return x * y; }); break;
      case Code::least: fold<lanes>(*this, at, r, smaller<Real>); break;
      case Code::greatest: fold<lanes>(*this, at, r, larger<Real>); break;
      case Code::dot: dot<lanes>(*this, at, r); break;
    }
  }
}

template void Tape::run<double, tape_lanes>(double*, Division) const;
template void Tape::run<double, 1>(double*, Division) const;
template void Tape::run<long double, 1>(long double*, Division) const;

Result<Tape> make_tape(const Graph& graph) {
  LEMMA_ASSIGN_OR_RETURN(const Graph expanded, expand_composites(graph));
  return GraphUnroller(expanded).unroll();
}

std::vector<std::vector<long double>> run_once(const Tape& tape,
                                               std::span<const std::vector<long double>> inputs,
                                               Tape::Division division) {
  std::vector<long double> registers(tape.register_count);
  for (std::size_t i = 0; i < tape.operands.size(); ++i)
    std::copy(inputs[i].begin(), inputs[i].end(), registers.begin() + tape.operands[i]);
  tape.run<long double, 1>(registers.data(), division);
  std::vector<std::vector<long double>> result;
  for (const std::vector<Register>& output : tape.outputs) {
    std::vector<long double>& values = result.emplace_back();
    for (const Register place : output) values.push_back(registers[place]);
  }
  return result;
}

}  // namespace lemma::generator
