#include "facts/kept_operand.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "facts/run_time_conditions.h"
#include "ir/definition.h"
#include "ir/operator.h"

namespace lemma {
namespace {

/// What is known of a step of a definition. An operand's element whose number is known is both: what is known beyond the
/// element takes nothing away.
struct Meaning {
  std::optional<double> number;          // the sign of a zero is not known
  std::optional<std::uint32_t> operand;  // the element of this operand at the output's own index
  bool bitwise = true;                   // the element: not only up to the sign of a zero

  bool is(double value) const { return number == value; }
  bool is_element() const { return operand.has_value(); }
};

Meaning number_of(double value) { return {value, std::nullopt, true}; }

Meaning up_to_sign_of_zero(Meaning element, DataType type) {
  element.bitwise = element.bitwise && !is_real(type);
  return element;
}

/// One output of one application.
class Reader {
 public:
  Reader(const Definition& definition, const DefinedOutput& output, const Instance& instance,
         const Shape& shape, std::span<const ValueFacts> operands)
      : definition_(definition),
        output_(output),
        instance_(instance),
        shape_(shape),
        operands_(operands) {}

  Meaning run() {
    // Operands come before the steps that use them.
    for (const ExpressionNode& node : definition_.nodes()) meanings_.push_back(meaning_of(node));
    return meanings_[output_.value.v];
  }

 private:
  Meaning meaning_of(const ExpressionNode& node) const {
    switch (node.kind) {
      case ExpressionKind::integer_constant: return number_of(static_cast<double>(node.integer));
      case ExpressionKind::real_constant: return number_of(node.real);
      case ExpressionKind::index:
        return definition_.extent(node.variable).is(1) ? number_of(0) : Meaning();
      case ExpressionKind::read: return meaning_of_read(node);
      case ExpressionKind::less: return meaning_of_less(node);
      case ExpressionKind::select: return meaning_of_select(node);
      case ExpressionKind::cast: {
        const ExpressionNode& from = definition_.node(node.operands[0]);
        return from.type == node.type ? meanings_[node.operands[0].v] : Meaning();
      }
      case ExpressionKind::sum:
      case ExpressionKind::product:
      case ExpressionKind::minimum_over:
      case ExpressionKind::maximum_over: return meaning_of_reduction(node);
      default: break;
    }
    if (node.operands.size() != 2) return {};
    const Meaning &a = meanings_[node.operands[0].v], &b = meanings_[node.operands[1].v];
    if (node.kind == ExpressionKind::logical_and && a.is(1) && b.number)
      return b;  // guards on positions
    Meaning kept;
    if (a.is_element() && b.number) kept = with_right(node, a, *b.number);
    if (!kept.is_element() && b.is_element() && a.number) kept = with_left(node, b, *a.number);
    return kept;
  }

  /// The element x in `x OP number`, where it comes out.
  static Meaning with_right(const ExpressionNode& node, const Meaning& x, double number) {
    switch (node.kind) {
      case ExpressionKind::subtract:
        return number == 0 ? up_to_sign_of_zero(x, node.type) : Meaning();
      case ExpressionKind::divide:
      case ExpressionKind::power: return number == 1 ? x : Meaning();
      case ExpressionKind::shift_left:
      case ExpressionKind::shift_right: return number == 0 ? x : Meaning();
      default: return with_left(node, x, number);
    }
  }

  /// The element x in `number OP x`, where it comes out.
  static Meaning with_left(const ExpressionNode& node, const Meaning& x, double number) {
    switch (node.kind) {
      case ExpressionKind::add: return number == 0 ? up_to_sign_of_zero(x, node.type) : Meaning();
      case ExpressionKind::multiply: return number == 1 ? x : Meaning();
      case ExpressionKind::minimum: return is_real(node.type) && number == HUGE_VAL ? x : Meaning();
      case ExpressionKind::maximum:
        return is_real(node.type) && number == -HUGE_VAL ? x : Meaning();
      case ExpressionKind::logical_and: return number != 0 ? x : Meaning();
      case ExpressionKind::logical_or:
      case ExpressionKind::bit_or:
      case ExpressionKind::bit_xor: return number == 0 ? x : Meaning();
      case ExpressionKind::bit_and: return is_integer(node.type) && number == -1 ? x : Meaning();
      default: return {};
    }
  }

  /// An operand whose elements are one number, or the output's own element of one of its shape.
  Meaning meaning_of_read(const ExpressionNode& node) const {
    if (node.input >= operands_.size() || !instance_.has(node.input)) return {};
    const Shape& shape = instance_.shape(node.input);
    if (shape.size() != node.operands.size()) return {};
    bool inside = true, own = shape == shape_;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const ExpressionNode& index = definition_.node(node.operands[axis]);
      const bool whole =
          index.kind == ExpressionKind::index && definition_.extent(index.variable) == shape[axis];
      const bool single = shape[axis].is(1) && meanings_[node.operands[axis].v].is(0);
      inside = inside && (whole || single);
      own =
          own && (single || (whole && (shape[axis].is(1) || index.variable == output_.axes[axis])));
    }
    if (!inside) return {};
    return {common_number(operands_[node.input]), own ? std::optional(node.input) : std::nullopt,
            true};
  }

  /// The meaning of a comparison of an index variable and a fixed number: whether the variable's
  /// range decides.
  Meaning meaning_of_less(const ExpressionNode& node) const {
    const Meaning &a = meanings_[node.operands[0].v], &b = meanings_[node.operands[1].v];
    const ExpressionNode &x = definition_.node(node.operands[0]),
                         &y = definition_.node(node.operands[1]);
    if (a.number && b.number) return number_of(*a.number < *b.number ? 1 : 0);
    if (x.kind == ExpressionKind::index && b.number) {
      const Dimension& extent = definition_.extent(x.variable);
      if (*b.number <= 0) return number_of(0);
      if (extent.is_constant() && static_cast<double>(extent.offset()) <= *b.number)
        return number_of(1);
    }
    if (x.kind == ExpressionKind::index && y.kind == ExpressionKind::extent &&
        definition_.extent(x.variable) == y.extent)
      return number_of(1);
    return {};
  }

  Meaning meaning_of_select(const ExpressionNode& node) const {
    const Meaning& condition = meanings_[node.operands[0].v];
    if (!condition.number) return {};
    return meanings_[node.operands[*condition.number != 0 ? 1 : 2].v];
  }

  /// Over one position.
  Meaning meaning_of_reduction(const ExpressionNode& node) const {
    const bool single = std::all_of(node.bound.begin(), node.bound.end(), [&](VariableId variable) {
      return definition_.extent(variable).is(1);
    });
    const Meaning& body = meanings_[node.operands[0].v];
    if (!single || !body.is_element()) return {};
    return node.kind == ExpressionKind::sum ? up_to_sign_of_zero(body, node.type) : body;
  }

  const Definition& definition_;
  const DefinedOutput& output_;
  const Instance& instance_;
  const Shape& shape_;
  std::span<const ValueFacts> operands_;
  std::vector<Meaning> meanings_;  // by step
};

}  // namespace

std::optional<double> common_number(const ValueFacts& facts) {
  if (!facts.defined || facts.lower != facts.upper) return std::nullopt;
  return facts.lower;
}

std::optional<KeptOperand> kept_operand(const Graph& graph, const Node& node, std::uint32_t output,
                                        std::span<const ValueFacts> operands) {
  if (node.kind != NodeKind::operation || graph.op(node).define == nullptr) return std::nullopt;
  const TensorType& type = graph.type(node.output(output));
  const std::vector<TensorType> types = graph.input_types(node);
  if (!type.shape || std::find(types.begin(), types.end(), type) == types.end())
    return std::nullopt;
  if (!run_time_conditions(graph, node).zero.empty()) return std::nullopt;
  const Instance instance{types, node.attributes, node.output_count};
  const Definition definition = graph.op(node).define(instance);
  if (output >= definition.outputs().size()) return std::nullopt;
  const Meaning meaning =
      Reader(definition, definition.outputs()[output], instance, *type.shape, operands).run();
  if (!meaning.is_element() || types[*meaning.operand] != type) return std::nullopt;
  return KeptOperand{*meaning.operand, meaning.bitwise};
}

}  // namespace lemma
