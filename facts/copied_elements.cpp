#include "facts/copied_elements.h"

#include <algorithm>

#include "ir/definition.h"
#include "ir/operator.h"

namespace lemma {
namespace {

/// Sizes that are known; nothing else has elements that can be counted.
std::optional<std::vector<std::int64_t>> sizes_of(const TensorType& type) {
  if (!type.is_known() || !is_constant(*type.shape)) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const Dimension& size : *type.shape) sizes.push_back(size.offset());
  return sizes;
}

/// How many elements there are, if no more than a limit.
std::optional<std::size_t> count_of(const std::vector<std::int64_t>& sizes, std::size_t limit) {
  std::size_t count = 1;
  for (const std::int64_t size : sizes)
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(size), &count)) return std::nullopt;
  return count <= limit ? std::optional(count) : std::nullopt;
}

/// Finds which element of which operand an element of an output is.
class Reading {
 public:
  struct Place {
    std::uint32_t input = 0;
    std::vector<std::int64_t> indices;
  };

  explicit Reading(const Definition& definition)
      : definition_(definition), variables_(definition.variable_extents().size(), 0) {}

  void set(VariableId variable, std::int64_t value) { variables_[variable.v] = value; }

  std::optional<Place> of(ExpressionId id) const {
    while (definition_.node(id).kind ==
           ExpressionKind::select) {  // one for each operand of a Concat
      const ExpressionNode& choice = definition_.node(id);
      const auto condition = integer(choice.operands[0]);
      if (!condition) return std::nullopt;
      id = choice.operands[*condition != 0 ? 1 : 2];
    }
    const ExpressionNode& read = definition_.node(id);
    if (read.kind != ExpressionKind::read) return std::nullopt;
    Place place{read.input, {}};
    for (const ExpressionId operand : read.operands) {
      const auto index = integer(operand);
      if (!index) return std::nullopt;
      place.indices.push_back(*index);
    }
    return place;
  }

 private:
  using Integer = std::optional<std::int64_t>;

  Integer integer(ExpressionId id) const {
    const ExpressionNode& node = definition_.node(id);
    switch (node.kind) {
      case ExpressionKind::integer_constant: return node.integer;
      case ExpressionKind::extent:
        return node.extent.is_constant() ? Integer(node.extent.offset()) : std::nullopt;
      case ExpressionKind::index: return variables_[node.variable.v];
      case ExpressionKind::logical_not: {
        const Integer a = integer(node.operands[0]);
        return a ? Integer(*a == 0 ? 1 : 0) : std::nullopt;
      }
      case ExpressionKind::select: {
        const Integer condition = integer(node.operands[0]);
        return condition ? integer(node.operands[*condition != 0 ? 1 : 2]) : std::nullopt;
      }
      default: return node.operands.size() == 2 ? binary(node) : std::nullopt;
    }
  }

  Integer binary(const ExpressionNode& node) const {
    const Integer a = integer(node.operands[0]);
    const Integer b = a ? integer(node.operands[1]) : std::nullopt;
    if (!b) return std::nullopt;
    std::int64_t result = 0;
    switch (node.kind) {
      case ExpressionKind::add:
        return __builtin_add_overflow(*a, *b, &result) ? std::nullopt : Integer(result);
      case ExpressionKind::subtract:
        return __builtin_sub_overflow(*a, *b, &result) ? std::nullopt : Integer(result);
      case ExpressionKind::multiply:
        return __builtin_mul_overflow(*a, *b, &result) ? std::nullopt : Integer(result);
      case ExpressionKind::floor_divide:
      case ExpressionKind::floor_modulo: {
        if (*b <= 0) return std::nullopt;
        const std::int64_t rest = ((*a % *b) + *b) % *b;
        if (node.kind == ExpressionKind::floor_modulo) return rest;
        return __builtin_sub_overflow(*a, rest, &result) ? std::nullopt : Integer(result / *b);
      }
      case ExpressionKind::minimum: return std::min(*a, *b);
      case ExpressionKind::maximum: return std::max(*a, *b);
      case ExpressionKind::equal: return *a == *b ? 1 : 0;
      case ExpressionKind::less: return *a < *b ? 1 : 0;
      case ExpressionKind::less_equal: return *a <= *b ? 1 : 0;
      case ExpressionKind::logical_and: return *a != 0 && *b != 0 ? 1 : 0;
      case ExpressionKind::logical_or: return *a != 0 || *b != 0 ? 1 : 0;
      default: return std::nullopt;
    }
  }

  const Definition& definition_;
  std::vector<std::int64_t> variables_;
};

/// The position in row-major order; nothing if the place is outside.
std::optional<std::int64_t> position_of(const std::vector<std::int64_t>& indices,
                                        const std::vector<std::int64_t>& sizes) {
  if (indices.size() != sizes.size()) return std::nullopt;
  std::int64_t position = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (indices[axis] < 0 || indices[axis] >= sizes[axis]) return std::nullopt;
    position = position * sizes[axis] + indices[axis];
  }
  return position;
}

}  // namespace

CopiedElements::CopiedElements(const Graph& graph, std::size_t limit)
    : graph_(graph),
      steps_left_(limit),
      is_known_(graph.value_count(), 0),
      direct_(graph.value_count()) {}

const std::vector<CopiedElements::Element>& CopiedElements::direct(ValueId value) {
  if (is_known_[value.v] == 0) direct_[value.v] = read_off(value);
  is_known_[value.v] = 1;
  return direct_[value.v];
}

std::vector<CopiedElements::Element> CopiedElements::read_off(ValueId value) {
  const Node& node = graph_.node(graph_.producer(value));
  const auto sizes = sizes_of(graph_.type(value));
  if (!sizes || node.kind != NodeKind::operation) return {};
  const OperatorRecord& op = graph_.op(node);
  const std::vector<TensorType> types = graph_.input_types(node);
  std::vector<std::vector<std::int64_t>> operand_sizes;
  for (const TensorType& type : types)
    operand_sizes.push_back(sizes_of(type).value_or(std::vector<std::int64_t>{}));
  const auto count = count_of(*sizes, steps_left_);
  if (op.define == nullptr || !count) return {};
  steps_left_ -= *count;
  const Definition definition = op.define({types, node.attributes, node.output_count});
  const DefinedOutput& output = definition.outputs()[graph_.output_index(value)];
  Reading reading(definition);
  std::vector<Element> result(*count);
  std::vector<std::int64_t> index(sizes->size(), 0);
  for (Element& element : result) {
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      reading.set(output.axes[axis], index[axis]);
    const auto place = reading.of(output.value);
    if (!place) return {};
    element.value = node.inputs[place->input];
    const auto position = position_of(place->indices, operand_sizes[place->input]);
    if (!position || graph_.type(element.value).data_type != graph_.type(value).data_type)
      return {};
    element.position = *position;
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < (*sizes)[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

std::optional<std::vector<CopiedElements::Element>> CopiedElements::of(ValueId value) {
  const auto sizes = sizes_of(graph_.type(value));
  const auto count = sizes ? count_of(*sizes, steps_left_) : std::nullopt;
  if (!count) return std::nullopt;
  std::vector<Element> result(*count);
  for (std::size_t i = 0; i < result.size(); ++i) {
    Element& element = result[i];
    element = {value, static_cast<std::int64_t>(i)};
    for (const auto* next = &direct(value); !next->empty(); next = &direct(element.value)) {
      if (steps_left_ == 0) return std::nullopt;
      --steps_left_;
      element = (*next)[static_cast<std::size_t>(element.position)];
    }
  }
  return result;
}

}  // namespace lemma
