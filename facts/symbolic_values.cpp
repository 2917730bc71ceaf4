#include "facts/symbolic_values.h"

#include <algorithm>

namespace lemma {

namespace {

using Kind = ExpressionKind;
using Known = std::optional<Dimension>;

constexpr std::int64_t element_limit = 512;  // shapes are small; weights are not looked at
constexpr std::int64_t reduction_limit = 4096;
constexpr int depth_limit = 500;

/// Whether the value certainly is one of the type, so that storing it does not wrap. A symbolic size
/// always fits a signed type in a model that works at all.
bool is_stored_exactly(const Dimension& value, DataType type) {
  const int width = bits(type);
  const auto low = lower_bound(value);
  if (is_unsigned_integer(type) && (!low || *low < 0)) return false;
  if (!value.is_constant()) return width >= 32;
  if (width >= 64) return true;
  const std::int64_t half = std::int64_t{1} << (width - 1);
  return is_unsigned_integer(type) || type == DataType::boolean
             ? value.offset() >= 0 && value.offset() < 2 * half
             : value.offset() >= -half && value.offset() < half;
}

/// Evaluates expressions of one definition over dimensions, for fixed index variables.
class SymbolicEvaluator {
 public:
  SymbolicEvaluator(const Definition& definition, const Instance& instance,
                    std::span<const Shape* const> inputs)
      : definition_(definition),
        instance_(instance),
        inputs_(inputs),
        variables_(definition.variable_extents().size(), 0) {}

  void bind(VariableId variable, std::int64_t value) { variables_[variable.v] = value; }

  Known evaluate(ExpressionId id) {
    if (++depth_ > depth_limit) {
      --depth_;
      return std::nullopt;
    }
    Known result = evaluate_node(definition_.node(id));
    --depth_;
    if (result && !result->is_valid()) return std::nullopt;
    return result;
  }

 private:
  Known evaluate_node(const ExpressionNode& node) {
    switch (node.kind) {
      case Kind::integer_constant: return Dimension(node.integer);
      case Kind::extent: return node.extent;
      case Kind::index: return Dimension(variables_[node.variable.v]);
      case Kind::read: return read(node);
      case Kind::select: return select(node);
      case Kind::cast: return cast(node);
      case Kind::function: return function(node);
      case Kind::logical_and:
      case Kind::logical_or:
      case Kind::logical_not: return logic(node);
      case Kind::sum:
      case Kind::product:
      case Kind::minimum_over:
      case Kind::maximum_over: return reduce(node);
      default: return node.operands.size() == 2 ? binary(node) : std::nullopt;
    }
  }

  Known read(const ExpressionNode& node) {
    if (node.input >= inputs_.size() || inputs_[node.input] == nullptr) return std::nullopt;
    const Shape& elements = *inputs_[node.input];
    const Shape& shape = instance_.shape(node.input);
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < node.operands.size(); ++axis) {
      const Known index = evaluate(node.operands[axis]);
      if (!index || !index->is_constant() || !shape[axis].is_constant()) return std::nullopt;
      if (index->offset() < 0 || index->offset() >= shape[axis].offset()) return std::nullopt;
      position = position * shape[axis].offset() + index->offset();
    }
    if (static_cast<std::size_t>(position) >= elements.size()) return std::nullopt;
    return elements[static_cast<std::size_t>(position)];
  }

  std::optional<bool> truth(ExpressionId id) {
    const Known value = evaluate(id);
    if (!value || !value->is_constant()) return std::nullopt;
    return value->offset() != 0;
  }

  Known select(const ExpressionNode& node) {
    const auto condition = truth(node.operands[0]);
    if (!condition) return std::nullopt;
    return evaluate(node.operands[*condition ? 1 : 2]);
  }

  Known logic(const ExpressionNode& node) {
    const auto a = truth(node.operands[0]);
    if (!a) return std::nullopt;
    if (node.kind == Kind::logical_not) return Dimension(*a ? 0 : 1);
    if (*a == (node.kind == Kind::logical_or)) return Dimension(*a ? 1 : 0);
    const auto b = truth(node.operands[1]);
    if (!b) return std::nullopt;
    return Dimension(*b ? 1 : 0);
  }

  Known cast(const ExpressionNode& node) {
    const ExpressionNode& from = definition_.node(node.operands[0]);
    if (is_real(from.type) || is_real(node.type)) return std::nullopt;
    const Known value = evaluate(node.operands[0]);
    if (!value || node.type == DataType::i64 || node.type == from.type) return value;
    if (node.type == DataType::boolean) {
      if (!value->is_constant()) return std::nullopt;
      return Dimension(value->offset() != 0 ? 1 : 0);
    }
    return is_stored_exactly(*value, node.type) ? value : std::nullopt;
  }

  Known function(const ExpressionNode& node) {
    const Known value = evaluate(node.operands[0]);
    if (!value) return std::nullopt;
    if (node.function == ScalarFunction::negate) return Dimension(0) - *value;
    if (node.function == ScalarFunction::absolute) return maximum(*value, Dimension(0) - *value);
    return std::nullopt;
  }

  Known binary(const ExpressionNode& node) {
    const Known a = evaluate(node.operands[0]), b = evaluate(node.operands[1]);
    if (!a || !b) return std::nullopt;
    switch (node.kind) {
      case Kind::add: return *a + *b;
      case Kind::subtract: return *a - *b;
      case Kind::multiply: return *a * *b;
      case Kind::floor_divide: return floor_div(*a, *b);
      case Kind::floor_modulo: return floor_mod(*a, *b);
      case Kind::minimum: return minimum(*a, *b);
      case Kind::maximum: return maximum(*a, *b);
      case Kind::divide: return truncated(*a, *b, false);
      case Kind::truncated_modulo: return truncated(*a, *b, true);
      case Kind::equal: return compare_equal(*a, *b);
      case Kind::less: return compare_less(*a, *b);
      case Kind::less_equal: {
        const Known greater = compare_less(*b, *a);
        if (!greater) return std::nullopt;
        return Dimension(1) - *greater;
      }
      default: return std::nullopt;
    }
  }

  /// Truncation is floor where both operands are non-negative, and is computed for constants.
  static Known truncated(const Dimension& a, const Dimension& b, bool remainder) {
    if (a.is_constant() && b.is_constant()) {
      if (b.offset() == 0 || (b.offset() == -1 && a.offset() == INT64_MIN)) return std::nullopt;
      return Dimension(remainder ? a.offset() % b.offset() : a.offset() / b.offset());
    }
    const auto low_a = lower_bound(a), low_b = lower_bound(b);
    if (!low_a || !low_b || *low_a < 0 || *low_b < 0) return std::nullopt;
    return remainder ? floor_mod(a, b) : floor_div(a, b);
  }

  static Known compare_equal(const Dimension& a, const Dimension& b) {
    if (a == b) return Dimension(1);
    const Known less = compare_less(a, b), greater = compare_less(b, a);
    if ((less && less->is(1)) || (greater && greater->is(1))) return Dimension(0);
    return std::nullopt;
  }

  static Known compare_less(const Dimension& a, const Dimension& b) {
    if (const auto low = lower_bound(b - a); low && *low >= 1) return Dimension(1);
    if (const auto low = lower_bound(a - b); low && *low >= 0) return Dimension(0);
    return std::nullopt;
  }

  Known reduce(const ExpressionNode& node) {
    std::int64_t count = 1;
    for (const VariableId variable : node.bound) {
      const Dimension& extent = definition_.extent(variable);
      if (!extent.is_constant() || extent.offset() <= 0) return std::nullopt;
      if (__builtin_mul_overflow(count, extent.offset(), &count) || count > reduction_limit)
        return std::nullopt;
    }
    Known total;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i;
      for (std::size_t j = node.bound.size(); j-- > 0;) {
        const std::int64_t extent = definition_.extent(node.bound[j]).offset();
        bind(node.bound[j], rest % extent);
        rest /= extent;
      }
      const Known value = evaluate(node.operands[0]);
      if (!value) return std::nullopt;
      total = total ? combine(node.kind, *total, *value) : *value;
      if (!total->is_valid()) return std::nullopt;
    }
    return total;
  }

  static Dimension combine(Kind kind, const Dimension& a, const Dimension& b) {
    if (kind == Kind::sum) return a + b;
    if (kind == Kind::product) return a * b;
    return kind == Kind::minimum_over ? minimum(a, b) : maximum(a, b);
  }

  const Definition& definition_;
  const Instance& instance_;
  std::span<const Shape* const> inputs_;
  std::vector<std::int64_t> variables_;
  int depth_ = 0;
};

/// Number of elements if small integers of a fixed shape; nothing otherwise.
std::optional<std::int64_t> countable(const TensorType& type) {
  if (!type.shape || (!is_integer(type.data_type) && type.data_type != DataType::boolean))
    return std::nullopt;
  const Dimension count = element_count(*type.shape);
  if (!count.is_constant() || count.offset() > element_limit) return std::nullopt;
  return count.offset();
}

}  // namespace

std::optional<std::vector<Shape>> evaluate_symbolically(const Definition& definition,
                                                        const Instance& instance,
                                                        std::span<const TensorType> outputs,
                                                        std::span<const Shape* const> inputs) {
  std::vector<Shape> results;
  SymbolicEvaluator evaluator(definition, instance, inputs);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto count = countable(outputs[k]);
    if (!count) return std::nullopt;
    const DefinedOutput& output = definition.outputs()[k];
    Shape elements;
    for (std::int64_t i = 0; i < *count; ++i) {
      std::int64_t rest = i;
      for (std::size_t axis = output.axes.size(); axis-- > 0;) {
        const std::int64_t size = (*outputs[k].shape)[axis].offset();
        evaluator.bind(output.axes[axis], rest % size);
        rest /= size;
      }
      auto element = evaluator.evaluate(output.value);
      if (!element || !is_stored_exactly(*element, outputs[k].data_type)) return std::nullopt;
      elements.push_back(std::move(*element));
    }
    results.push_back(std::move(elements));
  }
  return results;
}

const Shape* SymbolicValues::find(ValueId value) const {
  auto entry = known_.find(value);
  return entry != known_.end() ? &entry->second : nullptr;
}

void SymbolicValues::update(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.kind == NodeKind::constant) {
    if (!countable(graph.type(node.output()))) return;
    const auto integers = graph.constant(node).integers();
    known_[node.output()] = Shape(integers.begin(), integers.end());
    return;
  }
  if (node.kind != NodeKind::operation) return;
  const OperatorRecord& op = graph.op(node);
  if (op.define == nullptr) return;
  const std::vector<TensorType> outputs = graph.output_types(node);
  if (!std::all_of(outputs.begin(), outputs.end(),
                   [](const TensorType& type) { return countable(type).has_value(); }))
    return;
  const std::vector<TensorType> types = graph.input_types(node);
  const Instance instance{types, node.attributes, node.output_count};
  std::vector<const Shape*> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(input.is_none() ? nullptr : find(input));
  auto results = evaluate_symbolically(op.define(instance), instance, outputs, inputs);
  if (!results) return;
  for (std::uint32_t k = 0; k < node.output_count; ++k)
    known_[node.output(k)] = std::move((*results)[k]);
}

}  // namespace lemma
