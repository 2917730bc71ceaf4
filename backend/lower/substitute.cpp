#include "backend/lower/substitute.h"

#include <map>

#include "backend/lower/copy_definition.h"
#include "base/half_precision.h"

namespace lemma::backend {

namespace {

using Kind = ExpressionKind;

const DefinedOutput& output_of(const Computation& computation) {
  return computation.definition.outputs()[computation.output];
}

/// Whether it is a value of the type of 16 bits as it is: one that was stored, or rounded, or a constant.
bool is_rounded(const Definition& definition, ExpressionId id) {
  const ExpressionNode& node = definition.node(id);
  if (node.kind == Kind::select)
    return is_rounded(definition, node.operands[1]) && is_rounded(definition, node.operands[2]);
  if (node.kind != Kind::real_constant) return node.kind == Kind::read || node.kind == Kind::cast;
  const auto number = static_cast<float>(node.real);
  const float rounded = node.type == DataType::f16
                            ? half_precision::f16_to_f32(half_precision::f32_to_f16(number))
                            : half_precision::bf16_to_f32(half_precision::f32_to_bf16(number));
  return node.real == static_cast<double>(rounded);
}

}  // namespace

bool is_rounded_when_stored(DataType type) {
  return type == DataType::f16 || type == DataType::bf16;
}

Computation substitute(const Computation& reader, std::uint32_t input,
                       const Computation& producer) {
  Computation result = reader;
  result.description = producer.description + " + " + reader.description;
  result.output = 0;
  result.sources.insert(result.sources.end(), producer.sources.begin(), producer.sources.end());
  result.operands[input] = no_buffer;
  result.views[input] = {};
  const auto first = static_cast<std::uint32_t>(result.operands.size());
  result.operands.insert(result.operands.end(), producer.operands.begin(), producer.operands.end());
  result.views.insert(result.views.end(), producer.views.begin(), producer.views.end());

  const auto read_producer = [&](DefinitionBuilder& builder,
                                 const std::vector<Expression>& indices) {
    std::map<std::uint32_t, Expression> variables;
    for (std::size_t i = 0; i < indices.size(); ++i)
      variables.emplace(output_of(producer).axes[i].v, indices[i]);
    const Definition& definition = producer.definition;
    DefinitionCopier copier(
        builder, definition, std::move(variables),
        [&](ExpressionId id, const std::vector<Expression>& operands) -> std::optional<Expression> {
          const ExpressionNode& node = definition.node(id);
          if (node.kind != Kind::read) return std::nullopt;
          return builder.read(first + node.input, node.type, operands);
        });
    const Expression value = copier.copy(output_of(producer).value);
    return is_rounded_when_stored(value.type()) &&
                   !is_rounded(definition, output_of(producer).value)
               ? builder.cast(builder.cast(value, DataType::f32), value.type())
               : value;
  };
  result.schedule = merged(reader.schedule, producer.schedule);
  result.definition =
      copied_output(reader.definition, reader.output, [&](DefinitionBuilder& builder) -> Replace {
        return [&](ExpressionId id,
                   const std::vector<Expression>& operands) -> std::optional<Expression> {
          const ExpressionNode& node = reader.definition.node(id);
          if (node.kind != Kind::read || node.input != input) return std::nullopt;
          return read_producer(builder, operands);
        };
      });
  return result;
}

std::optional<double> read_count(const Computation& reader, std::uint32_t input) {
  const Definition& definition = reader.definition;
  const std::vector<bool> is_reached = reachable_expressions(definition, output_of(reader).value);
  std::optional<std::size_t> place;
  for (std::size_t i = 0; i < is_reached.size(); ++i) {
    const ExpressionNode& node = definition.nodes()[i];
    if (!is_reached[i] || node.kind != Kind::read || node.input != input) continue;
    if (place) return std::nullopt;
    place = i;
  }
  if (!place) return std::nullopt;
  // Once for each element of the result, and for each value of the other variables that its indices depend on.
  std::vector<bool> counts(definition.variable_extents().size(), false);
  for (const VariableId axis : output_of(reader).axes) counts[axis.v] = true;
  const std::vector<bool> below =
      reachable_expressions(definition, {static_cast<std::uint32_t>(*place)});
  for (std::size_t i = 0; i < below.size(); ++i) {
    if (below[i] && definition.nodes()[i].kind == Kind::index)
      counts[definition.nodes()[i].variable.v] = true;
  }
  double count = 1;
  for (std::size_t v = 0; v < counts.size(); ++v)
    if (counts[v]) count *= static_cast<double>(definition.variable_extents()[v].offset());
  return count;
}

}  // namespace lemma::backend
