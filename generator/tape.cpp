#include "generator/tape.h"

#include <bit>
#include <cmath>
#include <limits>

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include "ir/expand.h"
#include "lowering/lower.h"
#include "lowering/operation_table.h"
#include "lowering/scalar_operations.h"

namespace lemma::generator {
namespace {

using Code = TapeInstruction::Code;
using lowering::InputView;
using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermGraph;
using lowering::TermNumber;

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

class TapeBuilder {
 public:
  Register new_registers(std::uint32_t count) {
    const Register first = tape_.register_count;
    tape_.register_count += count;
    return first;
  }

  Register constant(double value) {
    const auto [entry, is_new] =
        constants_.try_emplace(std::bit_cast<std::uint64_t>(value), tape_.register_count);
    if (is_new) tape_.constants.emplace_back(new_registers(1), value);
    return entry->second;
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
    const auto [entry, is_new] = interned_.try_emplace(std::move(key), tape_.register_count);
    if (!is_new) return entry->second;
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

/// Unrolls the loops of one lowered output.
class Unroller {
 public:
  Unroller(TapeBuilder& builder, const LoweredOutput& output, const std::vector<Elements>& inputs)
      : builder_(builder),
        output_(output),
        graph_(output.graph),
        inputs_(inputs),
        variables_(graph_.variable_count()) {}

  Result<Elements> unroll() {
    Elements result{output_.sizes, {}};
    LEMMA_RETURN_IF_ERROR(for_each_index(output_.axes, [&]() -> Result<void> {
      LEMMA_ASSIGN_OR_RETURN(const Value value, evaluate(output_.root));
      result.places.push_back(builder_.place_of(value));
      return {};
    }));
    return result;
  }

 private:
  // Recursion follows the expressions of one record, which are small.
  Result<Value> evaluate(TermNumber id) {
    const Term& term = graph_.term(id);
    switch (term.kind) {
      case ExpressionKind::integer_constant:
      case ExpressionKind::real_constant:
        if (is_real(term.type)) return real_value(std::bit_cast<double>(term.bits));
        return integer_value(static_cast<std::int64_t>(term.bits));
      case ExpressionKind::index: return index(term.linear);
      case ExpressionKind::read: return read(term);
      case ExpressionKind::select: return select(term);
      case ExpressionKind::logical_and: return logical(term, false);
      case ExpressionKind::logical_or: return logical(term, true);
      case ExpressionKind::cast: return cast(term);
      case ExpressionKind::function: return function(term);
      default: break;
    }
    if (term.divisor != 0) {
      LEMMA_ASSIGN_OR_RETURN(const Value dividend, index(term.linear));
      return integer_value(lowering::floor_divide(dividend.integer, term.divisor));
    }
    if (is_reduction(term.kind)) return reduce(term);
    return arithmetic(term);
  }

  Result<Value> index(const Linear& form) {
    std::int64_t sum = form.constant;
    for (const auto& [atom, factor] : form.terms) {
      if (atom < lowering::first_term_atom) {
        sum += factor * variables_[atom];
        continue;
      }
      LEMMA_ASSIGN_OR_RETURN(const Value value, evaluate(atom - lowering::first_term_atom));
      if (value.kind != Value::Kind::integer) return unsupported("an index that is computed");
      sum += factor * value.integer;
    }
    return integer_value(sum);
  }

  Result<Value> read(const Term& term) {
    const Elements& input = inputs_[term.input];
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < term.indices.size(); ++axis) {
      LEMMA_ASSIGN_OR_RETURN(const Value at, index(term.indices[axis]));
      if (at.integer < 0 || at.integer >= input.sizes[axis])
        return internal_error("a read outside its tensor");
      position = position * input.sizes[axis] + at.integer;
    }
    return computed(input.places[static_cast<std::size_t>(position)]);
  }

  Result<Value> select(const Term& term) {
    LEMMA_ASSIGN_OR_RETURN(const Value condition, evaluate(term.operands[0]));
    if (condition.kind == Value::Kind::integer)
      return evaluate(term.operands[condition.integer != 0 ? 1 : 2]);
    LEMMA_ASSIGN_OR_RETURN(const Value then, evaluate(term.operands[1]));
    LEMMA_ASSIGN_OR_RETURN(const Value otherwise, evaluate(term.operands[2]));
    return computed(builder_.add(Code::select, condition.place, builder_.place_of(then),
                                 builder_.place_of(otherwise)));
  }

  Result<Value> logical(const Term& term, bool decides) {
    LEMMA_ASSIGN_OR_RETURN(const Value a, evaluate(term.operands[0]));
    if (a.kind == Value::Kind::integer)
      return (a.integer != 0) == decides ? Result<Value>(a) : evaluate(term.operands[1]);
    LEMMA_ASSIGN_OR_RETURN(const Value b, evaluate(term.operands[1]));
    return computed(
        builder_.add(decides ? Code::maximum : Code::minimum, a.place, builder_.place_of(b)));
  }

  Result<Value> cast(const Term& term) {
    LEMMA_ASSIGN_OR_RETURN(const Value a, evaluate(term.operands[0]));
    if (is_real(term.type))
      return a.kind == Value::Kind::integer ? real_value(static_cast<double>(a.integer)) : a;
    if (a.kind != Value::Kind::integer) return unsupported("a cast from real numbers to others");
    return a;
  }

  Result<Value> function(const Term& term) {
    LEMMA_ASSIGN_OR_RETURN(const Value a, evaluate(term.operands[0]));
    if (a.kind == Value::Kind::integer && term.function == ScalarFunction::negate)
      return integer_value(-a.integer);
    if (a.kind == Value::Kind::integer) return unsupported("a function of an integer");
    return computed(builder_.add(Code::function, builder_.place_of(a), 0, 0, term.function));
  }

  Result<Value> arithmetic(const Term& term) {
    LEMMA_ASSIGN_OR_RETURN(const Value a, evaluate(term.operands[0]));
    if (term.kind == ExpressionKind::logical_not) {
      if (a.kind == Value::Kind::integer) return integer_value(a.integer == 0 ? 1 : 0);
      return computed(builder_.add(Code::equal, a.place, builder_.constant(0)));
    }
    LEMMA_ASSIGN_OR_RETURN(const Value b, evaluate(term.operands[1]));
    if (a.kind == Value::Kind::integer && b.kind == Value::Kind::integer)
      return of_integers(term.kind, a.integer, b.integer);
    const auto code = code_of(term.kind);
    if (!code) return unsupported(fmt::format("'{}' of real numbers", name(term.kind)));
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
    if (kind == ExpressionKind::floor_divide) return integer_value(lowering::floor_divide(a, b));
    if (kind == ExpressionKind::floor_modulo)
      return integer_value(a - lowering::floor_divide(a, b) * b);
    if (kind == ExpressionKind::truncated_modulo) return integer_value(a % b);
    return unsupported(fmt::format("'{}' of integers", name(kind)));
  }

  /// What a sum adds up: a product is taken apart, so that it need not be stored.
  struct Addend {
    bool nothing = false;
    Value a, b;  // b is 1 where the addend is no product
  };
  Result<Addend> addend(TermNumber id) {
    const Term* term = &graph_.term(id);
    while (term->kind == ExpressionKind::select) {
      LEMMA_ASSIGN_OR_RETURN(const Value condition, evaluate(term->operands[0]));
      if (condition.kind != Value::Kind::integer) break;
      id = term->operands[condition.integer != 0 ? 1 : 2];
      term = &graph_.term(id);
    }
    Addend result;
    result.b = real_value(1);
    if (term->kind == ExpressionKind::multiply && is_real(term->type)) {
      LEMMA_ASSIGN_OR_RETURN(result.a, evaluate(term->operands[0]));
      LEMMA_ASSIGN_OR_RETURN(result.b, evaluate(term->operands[1]));
      return result;
    }
    LEMMA_ASSIGN_OR_RETURN(result.a, evaluate(id));
    result.nothing = result.a.kind == Value::Kind::real && result.a.real == 0;
    return result;
  }

  Result<Value> reduce(const Term& term) {
    if (!is_real(term.type)) return reduce_integers(term);
    std::vector<Register> list, factors;
    bool products = false;
    LEMMA_RETURN_IF_ERROR(for_each_index(term.bound, [&]() -> Result<void> {
      if (term.kind == ExpressionKind::sum) {
        LEMMA_ASSIGN_OR_RETURN(const Addend summand, addend(term.operands[0]));
        if (summand.nothing) return {};
        products = products || !(summand.b.kind == Value::Kind::real && summand.b.real == 1);
        list.push_back(builder_.place_of(summand.a));
        factors.push_back(builder_.place_of(summand.b));
        return {};
      }
      LEMMA_ASSIGN_OR_RETURN(const Value operand, evaluate(term.operands[0]));
      if (operand.kind == Value::Kind::real && std::isinf(operand.real)) return {};
      list.push_back(builder_.place_of(operand));
      return {};
    }));
    return combine(term.kind, list, products ? factors : std::vector<Register>());
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

  Result<Value> reduce_integers(const Term& term) {
    std::int64_t result = term.kind == ExpressionKind::product ? 1 : 0;
    bool first = true;
    LEMMA_RETURN_IF_ERROR(for_each_index(term.bound, [&]() -> Result<void> {
      LEMMA_ASSIGN_OR_RETURN(const Value operand, evaluate(term.operands[0]));
      if (operand.kind != Value::Kind::integer) return unsupported("a reduction to integers");
      const std::int64_t v = operand.integer;
      if (term.kind == ExpressionKind::sum) result += v;
      if (term.kind == ExpressionKind::product) result *= v;
      if (term.kind == ExpressionKind::maximum_over) result = first ? v : std::max(result, v);
      if (term.kind == ExpressionKind::minimum_over) result = first ? v : std::min(result, v);
      first = false;
      return {};
    }));
    return integer_value(result);
  }

  template <typename Visit>
  Result<void> for_each_index(const std::vector<LoopVariable>& variables, const Visit& visit) {
    for (const LoopVariable variable : variables) {
      if (graph_.extent(variable) == 0) return {};
      variables_[variable] = 0;
    }
    while (true) {
      LEMMA_RETURN_IF_ERROR(visit());
      std::size_t i = variables.size();
      while (i > 0 && ++variables_[variables[i - 1]] == graph_.extent(variables[i - 1]))
        variables_[variables[--i]] = 0;
      if (i == 0) return {};
    }
  }

  TapeBuilder& builder_;
  const LoweredOutput& output_;
  const TermGraph& graph_;
  const std::vector<Elements>& inputs_;
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
    for (const GraphOutput& output : graph_.outputs()) {
      if (!is_real(graph_.type(output.value).data_type))
        return unsupported("a result that is not real");
      builder_.tape().outputs.push_back(values_[output.value.v].places);
    }
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
    std::vector<InputView> views;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(node.inputs[i].is_none() ? Elements() : values_[node.inputs[i].v]);
      views.push_back({types[i].data_type, inputs.back().sizes, false});
    }
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const DataType kind = graph_.type(node.output(i)).data_type;
      // Conditions are 0 or 1, and are used within the operator of the set only.
      if (!is_real(kind) && kind != DataType::boolean)
        return unsupported("a value that is neither real nor a condition");
      // In f64, so that constants are what the definition says.
      LEMMA_ASSIGN_OR_RETURN(
          const LoweredOutput output,
          lowering::lower(definition, definition.outputs()[i], views, lowering::Domain::f64));
      auto elements = Unroller(builder_, output, inputs).unroll();
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

// clang-format off
#define LEMMA_CASE(name) case ScalarFunction::name: return static_cast<Real>(functions::name(x));
// clang-format on

template <typename Real>
Real apply(ScalarFunction function, Real x) {
  namespace functions = lowering::functions;
  switch (function) {
    LEMMA_REAL_FUNCTIONS(LEMMA_CASE)
    case ScalarFunction::none: break;
  }
  return x;
}
#undef LEMMA_CASE

/// Undefined at zero, where IEEE arithmetic has infinities.
bool has_pole(ScalarFunction function) {
  return function == ScalarFunction::log || function == ScalarFunction::reciprocal;
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
      case Code::minimum: each<lanes>(out, a, b, lowering::Minimum::apply<Real>); break;
      case Code::maximum: each<lanes>(out, a, b, lowering::Maximum::apply<Real>); break;
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
      case Code::least: fold<lanes>(*this, at, r, lowering::Minimum::apply<Real>); break;
      case Code::greatest: fold<lanes>(*this, at, r, lowering::Maximum::apply<Real>); break;
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
