#include "backend/layout/integer_factors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backend/layout/byte_factor.h"
#include "backend/layout/scaled_weights.h"
#include "backend/layout/short_rows.h"
#include "backend/layout/summed_factors.h"
#include "backend/lower/substitute.h"

namespace lemma::backend {

using Kind = ExpressionKind;

namespace {

/// Whether the same steps compute the same from integers.
bool computes_in_integers(const Definition& definition) {
  return std::all_of(definition.nodes().begin(), definition.nodes().end(),
                     [](const ExpressionNode& node) {
                       switch (node.kind) {
                         case Kind::real_constant: return node.real == std::trunc(node.real);
                         case Kind::integer_constant:
                         case Kind::extent:
                         case Kind::index:
                         case Kind::read:
                         case Kind::add:
                         case Kind::subtract:
                         case Kind::multiply:
                         case Kind::select:
                         case Kind::less:
                         case Kind::less_equal:
                         case Kind::logical_and:
                         case Kind::cast: return true;
                         default: return false;
                       }
                     });
}

/// Reads of an operand of one element, under whatever shape, with the sizes of its buffer.
Computation with_plain_reads(const Computation& computation, std::uint32_t input,
                             const Buffer& buffer) {
  Computation result = computation;
  result.views[input].sizes = buffer.sizes;
  result.output = 0;
  result.definition = copied_output(
      computation.definition, computation.output, [&](DefinitionBuilder& builder) -> Replace {
        return [&](ExpressionId id, const std::vector<Expression>&) -> std::optional<Expression> {
          const ExpressionNode& node = computation.definition.node(id);
          if (node.kind != Kind::read || node.input != input) return std::nullopt;
          return builder.read(input, node.type,
                              std::vector<Expression>(buffer.sizes.size(), builder.integer(0)));
        };
      });
  return result;
}

}  // namespace

IntegerFactors::IntegerFactors(IntegerGraph& integers, const std::vector<Computation>& before)
    : integers_(integers), before_(before), producers_(integers.graph.buffers.size()) {
  for (std::size_t i = 0; i < before.size(); ++i) producers_[before[i].result] = i;
}

/// Takes the definition of an operand of a real type, or of wide integers, into its place.
bool IntegerFactors::substitute_one(Computation& computation) const {
  constexpr std::size_t most_nodes = 60;
  for (std::uint32_t i = 0; i < computation.operands.size(); ++i) {
    const BufferNumber operand = computation.operands[i];
    if (operand == no_buffer || operand >= producers_.size() || !producers_[operand]) continue;
    const DataType type = integers_.graph.buffers[operand].type;
    const Computation& producer = before_[*producers_[operand]];
    if (!is_real(type) && (type != DataType::i32 || !computes_in_integers(producer.definition)))
      continue;
    const std::vector<ExpressionNode>& nodes = producer.definition.nodes();
    const bool has_reduction = std::any_of(
        nodes.begin(), nodes.end(), [](const auto& node) { return is_reduction(node.kind); });
    if (has_reduction || nodes.size() + computation.definition.nodes().size() > most_nodes)
      continue;
    if (computation.views[i].sizes != integers_.graph.buffers[operand].sizes) {
      if (integers_.graph.buffers[operand].elements != 1) continue;
      computation = with_plain_reads(computation, i, integers_.graph.buffers[operand]);
    }
    computation = substitute(computation, i, producer);
    computation.output = 0;
    return true;
  }
  return false;
}

std::optional<Integers> IntegerFactors::in_integers(
    Computation computation, const std::optional<std::vector<std::size_t>>& scaled_axes) {
  while (substitute_one(computation)) {
  }
  Integers result;
  if (scaled_axes) {
    if (auto weights = of_scaled_weights(computation, *scaled_axes)) return weights;
    if (auto scaled = without_scale(computation);
        scaled && is_constant(computation, scaled->scale)) {
      result.scale = Scale{computation, scaled->scale};
      computation = std::move(scaled->rest);
      forget_unread(computation);
    }
  }
  auto integers = without_reals(computation);
  if (!integers) return std::nullopt;
  result.computation = std::move(*integers);
  return result;
}

/// Whether the expression is the same in each run.
bool IntegerFactors::is_constant(const Computation& computation, ExpressionId id) const {
  const Definition& definition = computation.definition;
  const std::vector<bool> is_reached = reachable_expressions(definition, id);
  for (std::size_t i = 0; i <= id.v; ++i) {
    const ExpressionNode& node = definition.nodes()[i];
    if (!is_reached[i] || node.kind != Kind::read) continue;
    const BufferNumber operand = computation.operands[node.input];
    if (operand == no_buffer || integers_.graph.buffers[operand].memory != Memory::weights)
      return false;
  }
  return true;
}

/// Weights that are copied from a buffer whose elements are whole numbers times numbers.
std::optional<Integers> IntegerFactors::of_scaled_weights(
    const Computation& computation, const std::vector<std::size_t>& scaled_axes) {
  const Definition& definition = computation.definition;
  const ExpressionNode& read = definition.node(output_of(computation).value);
  if (read.kind != Kind::read || read.type != DataType::f32) return std::nullopt;
  const BufferNumber number = computation.operands[read.input];
  if (number == no_buffer || integers_.graph.buffers[number].memory != Memory::weights ||
      !integers_.graph.buffers[number].contents)
    return std::nullopt;
  std::vector<std::size_t> weight_axes, factor_axes;
  for (const std::size_t axis : scaled_axes)
    for (std::size_t i = 0; i < read.operands.size(); ++i) {
      const ExpressionNode& index = definition.node(read.operands[i]);
      if (index.kind != Kind::index || index.variable != output_of(computation).axes[axis])
        continue;
      weight_axes.push_back(i);
      factor_axes.push_back(axis);
    }
  const lowering::Sizes& sizes = computation.views[read.input].sizes;
  const auto scaled =
      scaled_weights(integers_.graph.buffers[number].contents->reals(), sizes, weight_axes);
  if (!scaled) return std::nullopt;
  Integers result{with_contents(computation, read.input, scaled->numbers), Scale{}};
  result.scale->numbers = added_weights(
      integers_.graph.buffers[number].name + " scales", DataType::f32,
      scaled->axis ? lowering::Sizes{sizes[*scaled->axis]} : lowering::Sizes{}, scaled->scales);
  for (std::size_t i = 0; i < weight_axes.size(); ++i)
    if (scaled->axis == weight_axes[i]) result.scale->axis = factor_axes[i];
  return result;
}

template <typename T>
BufferNumber IntegerFactors::added_weights(const std::string& name, DataType type,
                                           const lowering::Sizes& sizes,
                                           const std::vector<T>& elements) {
  Buffer buffer;
  buffer.name = name;
  buffer.type = type;
  buffer.memory = Memory::weights;
  buffer.sizes = sizes;
  buffer.elements = static_cast<std::int64_t>(elements.size());
  buffer.contents = Constant::of(type, sizes, elements);
  integers_.add_buffer(std::move(buffer));
  return static_cast<BufferNumber>(integers_.graph.buffers.size() - 1);
}

/// The computation, which is one read, of these integers in place of what it reads.
Computation IntegerFactors::with_contents(const Computation& computation, std::uint32_t input,
                                          const std::vector<std::int32_t>& elements) {
  const Buffer& before = integers_.graph.buffers[computation.operands[input]];
  Computation result = computation;
  result.views[input].type = DataType::i32;
  result.operands[input] =
      added_weights(before.name, DataType::i32, result.views[input].sizes, elements);
  integers_.ranges[result.operands[input]] = WholeRange{-128, 127};
  result.output = 0;
  result.definition = copied_output(
      computation.definition, computation.output, [&](DefinitionBuilder& builder) -> Replace {
        return [&](ExpressionId id,
                   const std::vector<Expression>& operands) -> std::optional<Expression> {
          const ExpressionNode& node = computation.definition.node(id);
          if (node.kind != Kind::read) return std::nullopt;
          return builder.read(node.input, DataType::i32, operands);
        };
      });
  return result;
}

/// The same steps with integers.
std::optional<Computation> IntegerFactors::without_reals(const Computation& computation) {
  const Definition& before = computation.definition;
  if (!computes_in_integers(before)) return std::nullopt;
  Computation result = computation;
  for (std::size_t i = 0; i < result.operands.size(); ++i) {
    const BufferNumber operand = result.operands[i];
    if (operand == no_buffer || !is_real(integers_.graph.buffers[operand].type)) continue;
    const auto whole = whole_weights(operand);
    if (!whole) return std::nullopt;
    result.operands[i] = *whole;
    result.views[i].type = DataType::i32;
  }
  const ExpressionId root = output_of(computation).value;
  DefinitionBuilder builder;
  std::vector<Expression> axes;
  std::map<std::uint32_t, Expression> variables;
  for (const VariableId v : output_of(computation).axes) {
    axes.push_back(builder.variable(before.extent(v)));
    variables.emplace(v.v, axes.back());
  }
  DefinitionCopier copier(
      builder, before, variables,
      [&](ExpressionId id, const std::vector<Expression>& operands) -> std::optional<Expression> {
        const ExpressionNode& node = before.node(id);
        if (node.kind == Kind::real_constant)
          return builder.integer(static_cast<std::int64_t>(node.real), DataType::i32);
        if (node.kind == Kind::read && is_real(node.type))
          return builder.read(node.input, DataType::i32, operands);
        if (node.kind == Kind::cast) return builder.cast(operands[0], DataType::i32);
        return std::nullopt;
      });
  builder.output(axes, copier.copy(root));
  result.definition = without_unreached(std::move(builder).finish());
  result.output = 0;
  return result;
}

/// Weights of a real type as integers.
std::optional<BufferNumber> IntegerFactors::whole_weights(BufferNumber number) {
  if (const auto known = whole_.find(number); known != whole_.end()) return known->second;
  const Buffer& weights = integers_.graph.buffers[number];
  if (weights.memory != Memory::weights || !weights.contents || !integers_.ranges[number])
    return std::nullopt;
  std::vector<std::int32_t> elements;
  for (const double element : weights.contents->reals())
    elements.push_back(static_cast<std::int32_t>(element));
  Buffer buffer = weights;
  buffer.type = DataType::i32;
  buffer.contents = Constant::of(DataType::i32, weights.sizes, elements);
  const auto result = static_cast<BufferNumber>(integers_.graph.buffers.size());
  integers_.add_buffer(std::move(buffer));
  integers_.ranges[result] = integers_.ranges[number];
  whole_.emplace(number, result);
  return result;
}

}  // namespace lemma::backend
