// What a run computes, as expressions (declared in verifier/index/composer.h and composition.h). Sums, differences,
// products and quotients are correctly rounded: each is a function of two numbers, of which these laws hold for every
// bit, but for the sign of a NaN (IEEE 754-2019, sections 5.4.1, 6.1 and 6.3): operands of sums and products commute, a
// difference is the sum with the negation, signs come out of products and quotients, where 1 is neutral, as -0 is in
// sums; x + x is 2x; 0 + 0 and 0 * 0 are 0; the magnitude of a product or quotient is that of the magnitudes. Of
// comparisons: x = y is x <= y and y <= x, x < x is false, and -x < -y is y < x. What chooses one of its operands, as
// minima do, gives what all of them are, and the same again of what it has chosen.

#include <cmath>

#include <fmt/format.h>

#include "verifier/index/composer.h"

namespace lemma::verifier::index {
namespace {

using Kind = ExpressionKind;

bool is_negative(const Polynomial& value) {
  return value.terms.size() == 1 && value.terms[0].coefficient < 0;
}

Polynomial magnitude(const Polynomial& value) {
  return is_negative(value) ? scale(value, -1) : value;
}

Polynomial function_of(std::string_view function, std::vector<Polynomial> arguments) {
  return opaque(fmt::format("rounded {}", function), std::move(arguments), DataType::undefined);
}

/// A function of both, in one order.
Polynomial commuting(std::string_view function, const Polynomial& a, const Polynomial& b) {
  return a.text <= b.text ? function_of(function, {a, b}) : function_of(function, {b, a});
}

Polynomial zero_of_run() { return function_of("zero", {}); }

/// A function of that name, and what it is applied to; null for other values.
const Factor* application(const Polynomial& value, std::string_view function) {
  const Factor* factor = only_factor(value);
  const bool is_it = factor != nullptr && factor->kind == Factor::Kind::opaque &&
                     factor->name == fmt::format("rounded {}", function);
  return is_it ? factor : nullptr;
}

/// The result for magnitudes with the sign of both.
template <typename F>
Polynomial with_sign(const Polynomial& a, const Polynomial& b, F f) {
  return scale(f(magnitude(a), magnitude(b)), is_negative(a) == is_negative(b) ? 1 : -1);
}

Polynomial rounded_product(const Polynomial& a, const Polynomial& b) {
  const std::string one = whole(1).text, zero = zero_of_run().text;
  return with_sign(a, b, [&](const Polynomial& x, const Polynomial& y) {
    if (x.text == one) return y;
    if (y.text == one || (x.text == zero && y.text == zero)) return x;
    const Factor* absolute = application(x, "absolute");
    if (absolute != nullptr && x.text == y.text)
      return function_of("product", {absolute->arguments[0], absolute->arguments[0]});
    return commuting("product", x, y);
  });
}

Polynomial rounded_sum(const Polynomial& a, const Polynomial& b) {
  const std::string zero = zero_of_run().text, negative = scale(zero_of_run(), -1).text;
  if (a.text == negative) return b;
  if (b.text == negative || (a.text == zero && b.text == zero)) return a;
  return a.text == b.text ? rounded_product(whole(2), a) : commuting("sum", a, b);
}

Polynomial rounded_difference(const Polynomial& a, const Polynomial& b) {
  return rounded_sum(a, scale(b, -1));
}

Polynomial rounded_quotient(const Polynomial& a, const Polynomial& b) {
  const std::string one = whole(1).text;
  return with_sign(a, b, [&one](const Polynomial& x, const Polynomial& y) {
    return y.text == one ? x : function_of("quotient", {x, y});
  });
}

Polynomial rounded_magnitude(const Polynomial& value) {
  const Polynomial a = magnitude(value);
  const Factor *product = application(a, "product"), *quotient = application(a, "quotient");
  if (a.text == zero_of_run().text || a.text == whole(1).text) return a;
  if (product != nullptr)
    return rounded_product(rounded_magnitude(product->arguments[0]),
                           rounded_magnitude(product->arguments[1]));
  if (quotient != nullptr)
    return rounded_quotient(rounded_magnitude(quotient->arguments[0]),
                            rounded_magnitude(quotient->arguments[1]));
  return application(a, "absolute") != nullptr ? a : function_of("absolute", {a});
}

/// A single rounding of real numbers.
bool rounds(const ExpressionNode& node) {
  return is_real(node.type) &&
         (node.kind == Kind::add || node.kind == Kind::subtract || node.kind == Kind::multiply ||
          node.kind == Kind::divide || node.function == ScalarFunction::reciprocal);
}

bool changes_sign(const ExpressionNode& node) {
  return node.kind == Kind::function &&
         (node.function == ScalarFunction::negate || node.function == ScalarFunction::absolute);
}

bool is_classification_of(const ExpressionNode& node) {
  return node.kind == Kind::function &&
         (node.function == ScalarFunction::is_nan || node.function == ScalarFunction::is_infinite);
}

/// Whether the bits that it gives are those of one number, changed in its sign alone, chosen or compared.
bool is_exact(const Definition& definition, const ExpressionNode& node) {
  const auto type_of = [&](std::size_t i) { return definition.node(node.operands[i]).type; };
  if (is_reduction(node.kind)) return !is_real(node.type);
  if (is_classification_of(node)) return true;
  if (node.kind == Kind::cast)
    return node.type == type_of(0) || (!is_real(node.type) && !is_real(type_of(0)));
  if (!is_real(node.type)) return true;
  return changes_sign(node) || node.kind == Kind::read || node.kind == Kind::select ||
         node.kind == Kind::real_constant || node.kind == Kind::real_parameter;
}

/// Moves elements, and rounds once at most.
bool is_understood(const Definition& definition) {
  int roundings = 0;
  for (const ExpressionNode& node : definition.nodes())
    if (rounds(node))
      ++roundings;
    else if (!is_exact(definition, node))
      return false;
  return roundings <= 1;
}

bool reads_reals(const Definition& definition) {
  return std::ranges::any_of(definition.nodes(), [](const ExpressionNode& node) {
    return node.kind == Kind::read && is_real(node.type);
  });
}

bool reduces(const Definition& definition) {
  return std::ranges::any_of(definition.nodes(),
                             [](const ExpressionNode& node) { return is_reduction(node.kind); });
}

/// Whether the value depends on indices otherwise than by what is read at them, or reads at what it reads.
bool depends_on_place(const Definition& definition, ExpressionId id, bool is_place = false) {
  const ExpressionNode& node = definition.node(id);
  if (node.kind == Kind::read && is_place) return true;
  if (node.kind == Kind::index || node.kind == Kind::extent) return !is_place;
  const bool inside = is_place || node.kind == Kind::read;
  return std::ranges::any_of(node.operands, [&](ExpressionId operand) {
    return depends_on_place(definition, operand, inside);
  });
}

Definition definition_of(const Graph& graph, const Node& node) {
  const std::vector<TensorType> types = graph.input_types(node);
  return graph.op(node).define({types, node.attributes, node.output_count});
}

/// The operator with all that its function may depend on beside the operands.
std::string function_name(const Graph& graph, const Node& node, std::uint32_t output) {
  std::string types;
  for (const ValueId input : node.inputs)
    types += input.is_none() ? " -" : fmt::format(" {}", name(graph.type(input).data_type));
  return fmt::format("{}{} of{}, output {}", graph.op(node).name, text(node.attributes), types,
                     output);
}

/// Gives one of what it reads and of its constants: which one of two that are equal is fixed by no standard.
bool is_choice(const Definition& definition) {
  return std::ranges::all_of(definition.nodes(), [](const ExpressionNode& node) {
    if (node.kind == Kind::index || node.kind == Kind::extent ||
        node.kind == Kind::integer_constant)
      return true;
    return is_real(node.type) && (node.kind == Kind::read || node.kind == Kind::real_constant ||
                                  node.kind == Kind::minimum || node.kind == Kind::maximum);
  });
}

/// The value of a choice that does not matter: among equal bits, or among those of a choice made in the same way.
std::optional<Polynomial> chosen(const Definition& definition, const std::string& function,
                                 const std::vector<Polynomial>& arguments) {
  if (arguments.empty() || !is_choice(definition)) return std::nullopt;
  const Factor* inner = only_factor(arguments[0]);
  if (arguments.size() == 1 && inner != nullptr && inner->kind == Factor::Kind::opaque &&
      inner->name == function)
    return arguments[0];
  const auto is_first = [&](const Polynomial& value) { return value.text == arguments[0].text; };
  const bool constants_are =
      std::ranges::all_of(definition.nodes(), [&](const ExpressionNode& node) {
        return node.kind != Kind::real_constant || is_first(number_of_run(node.real));
      });
  return constants_are && std::ranges::all_of(arguments, is_first) ? std::optional(arguments[0])
                                                                   : std::nullopt;
}

struct Arguments {
  Formula guard = always();
  std::vector<Polynomial> values;
};

/// Each way to choose a piece of each operand.
std::vector<Arguments> choices(const std::vector<Pieces>& operands) {
  constexpr std::size_t limit = 64;
  std::vector<Arguments> result = {{}};
  for (const Pieces& pieces : operands) {
    std::vector<Arguments> more;
    for (const Arguments& before : result)
      for (const Piece& piece : pieces) {
        Arguments with = before;
        with.guard = both(before.guard, piece.guard);
        with.values.push_back(piece.value);
        if (!is_never(with.guard)) more.push_back(std::move(with));
      }
    if (more.size() > limit) throw Unsupported("too many cases of conditions");
    result = std::move(more);
  }
  return result;
}

}  // namespace

bool is_kernel(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::operation) return false;
  const OperatorRecord& op = graph.op(node);
  if (op.define == nullptr) return !op.has(elementwise) || node.output_count != 1;
  const Definition definition = definition_of(graph, node);
  if (reads_reals(definition) && reduces(definition)) return true;
  if (is_understood(definition)) return false;
  return std::ranges::any_of(definition.outputs(), [&](const DefinedOutput& output) {
    return depends_on_place(definition, output.value);
  });
}

Polynomial number_of_run(double value) {
  if (std::isnan(value)) return function_of("not a number", {});
  const Polynomial absolute = value == 0 ? zero_of_run() : number(std::abs(value));
  return std::signbit(value) ? scale(absolute, -1) : absolute;
}

bool Composer::is_rounded(const ExpressionNode& node) {
  return is_real(node.type) &&
         (rounds(node) || changes_sign(node) || node.kind == Kind::real_constant);
}

Pieces Composer::rounded(const Scope& scope, const ExpressionNode& node, const Formula& path) {
  const auto operand = [&](std::size_t i) { return real(scope, node.operands[i], path); };
  switch (node.kind) {
    case Kind::real_constant: return {{always(), number_of_run(node.real)}};
    case Kind::add: return combine(operand(0), operand(1), rounded_sum);
    case Kind::subtract: return combine(operand(0), operand(1), rounded_difference);
    case Kind::multiply: return combine(operand(0), operand(1), rounded_product);
    case Kind::divide: return combine(operand(0), operand(1), rounded_quotient);
    default: break;
  }
  if (node.function == ScalarFunction::negate)
    return map(operand(0), [](const Polynomial& a) { return scale(a, -1); });
  if (node.function == ScalarFunction::reciprocal)
    return map(operand(0), [](const Polynomial& a) { return rounded_quotient(whole(1), a); });
  return map(operand(0), rounded_magnitude);
}

Formula Composer::rounded_comparison(ExpressionKind kind, const Polynomial& a,
                                     const Polynomial& b) {
  if (kind == Kind::equal)
    return both(rounded_comparison(Kind::less_equal, a, b),
                rounded_comparison(Kind::less_equal, b, a));
  if (kind == Kind::less && a.text == b.text) return never();
  if (is_negative(a) && is_negative(b)) return rounded_comparison(kind, magnitude(b), magnitude(a));
  return is_positive(function_of(name(kind), {a, b}));
}

std::optional<Pieces> Composer::element_of_kernel(ValueId value,
                                                  const std::vector<Dimension>& indices,
                                                  const Formula& path) {
  const NodeId id = graph_.producer(value);
  const Node& node = graph_.node(id);
  if (is_kernel(graph_, node)) return element_of_whole(value, indices);
  const TensorType& type = graph_.type(value);
  std::vector<Pieces> operands;
  if (graph_.op(node).define == nullptr) {
    operands = broadcast_operands(node, *type.shape, indices, path);
  } else {
    const Definition& definition = definition_of(id);
    if (is_understood(definition)) return std::nullopt;
    Scope scope{definition, node, std::vector<Dimension>(definition.variable_extents().size())};
    const DefinedOutput& output = definition.outputs()[graph_.output_index(value)];
    for (std::size_t i = 0; i < output.axes.size(); ++i)
      scope.variables[output.axes[i].v] = indices[i];
    operands = elements_read(scope, path);
  }
  const std::string function = function_name(graph_, node, graph_.output_index(value));
  const DataType integers = is_integer(type.data_type) ? type.data_type : DataType::undefined;
  Pieces result;
  for (Arguments& arguments : choices(operands)) {
    std::optional<Polynomial> known;
    if (graph_.op(node).define != nullptr)
      known = chosen(definition_of(id), function, arguments.values);
    result.push_back(
        {arguments.guard,
         known ? std::move(*known) : opaque(function, std::move(arguments.values), integers)});
  }
  return type.data_type == DataType::boolean ? truth(holds(result)) : result;
}

Pieces Composer::element_of_whole(ValueId value, const std::vector<Dimension>& indices) const {
  const TensorType& type = graph_.type(value);
  if (is_integer(type.data_type)) throw Unsupported("integers of a kernel");
  // Inputs have smaller numbers; no node has so many outputs.
  constexpr std::uint32_t first = 1U << 20U, outputs = 1U << 8U;
  const std::uint32_t number = kernels_->at(graph_.producer(value));
  std::vector<Dimension> places;
  for (std::size_t axis = 0; axis < indices.size(); ++axis)
    if (!(*type.shape)[axis].is(1)) places.push_back(indices[axis]);
  const Polynomial result = read(first + number * outputs + graph_.output_index(value), places);
  return type.data_type == DataType::boolean ? truth(is_positive(result))
                                             : Pieces{{always(), result}};
}

std::vector<Pieces> Composer::broadcast_operands(const Node& node, const Shape& shape,
                                                 const std::vector<Dimension>& indices,
                                                 const Formula& path) {
  std::vector<Pieces> result;
  for (const ValueId input : node.inputs) {
    if (input.is_none()) continue;
    const Shape& own = *graph_.type(input).shape;
    std::vector<Dimension> places;
    for (std::size_t axis = 0; axis < own.size(); ++axis)
      places.push_back(own[axis].is(1) ? Dimension(0) : indices[shape.size() - own.size() + axis]);
    result.push_back(element(input, places, path));
  }
  return result;
}

std::vector<Pieces> Composer::elements_read(const Scope& scope, const Formula& path) {
  std::vector<Pieces> result;
  for (std::uint32_t i = 0; i < scope.definition.nodes().size(); ++i)
    if (scope.definition.nodes()[i].kind == Kind::read)
      result.push_back(real(scope, ExpressionId{i}, path));
  return result;
}

}  // namespace lemma::verifier::index
