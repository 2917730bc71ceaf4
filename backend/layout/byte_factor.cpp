#include "backend/layout/byte_factor.h"

#include <map>
#include <utility>
#include <vector>

#include "backend/lower/copy_definition.h"

namespace lemma::backend {

namespace {

using Kind = ExpressionKind;

constexpr double greatest_byte = 255;

bool has_variables(const Definition& definition, ExpressionId root) {
  const std::vector<bool> is_reached = reachable_expressions(definition, root);
  for (std::size_t i = 0; i <= root.v; ++i)
    if (is_reached[i] && definition.nodes()[i].kind == Kind::index) return true;
  return false;
}

bool is_zero(const ExpressionNode& node) {
  return (node.kind == Kind::integer_constant && node.integer == 0) ||
         (node.kind == Kind::real_constant && node.real == 0);
}

/// The number that is subtracted from all elements, as of a - b or of a choice between a - b and 0.
std::optional<ExpressionId> subtracted_from(const Definition& definition, ExpressionId root) {
  const ExpressionNode& node = definition.node(root);
  if (node.kind == Kind::subtract && !has_variables(definition, node.operands[1]))
    return node.operands[1];
  if (node.kind == Kind::select && is_zero(definition.node(node.operands[2])))
    return subtracted_from(definition, node.operands[1]);
  return std::nullopt;
}

ExpressionId value_of(const Computation& computation) {
  return computation.definition.outputs()[computation.output].value;
}

/// The factor with `change` done to its value, which gets the builder and a copier of the factor's definition.
template <typename Change>
Computation changed(const Computation& factor, const Change& change) {
  const Definition& before = factor.definition;
  Computation result = factor;
  DefinitionBuilder builder;
  std::vector<Expression> axes;
  std::map<std::uint32_t, Expression> variables;
  for (const VariableId v : before.outputs()[factor.output].axes) {
    axes.push_back(builder.variable(before.extent(v)));
    variables.emplace(v.v, axes.back());
  }
  DefinitionCopier copier(
      builder, before, variables,
      [](ExpressionId, const std::vector<Expression>&) -> std::optional<Expression> { return {}; });
  const Expression value = change(builder, copier, value_of(factor));
  builder.output(axes, value);
  // Copied once more, without what is not reached.
  const Definition whole = std::move(builder).finish();
  result.definition = copied_output(whole, 0, [](DefinitionBuilder&) -> Replace {
    return [](ExpressionId, const std::vector<Expression>&) -> std::optional<Expression> {
      return {};
    };
  });
  result.output = 0;
  return result;
}

/// The elements with `subtracted` added to them, of i32.
Expression without_subtraction(DefinitionBuilder& builder, DefinitionCopier& copier,
                               const Definition& definition, ExpressionId root,
                               ExpressionId subtracted) {
  const ExpressionNode& node = definition.node(root);
  if (node.kind == Kind::subtract)
    return builder.cast(copier.copy(node.operands[0]), DataType::i32);
  return builder.select(
      copier.copy(node.operands[0]),
      without_subtraction(builder, copier, definition, node.operands[1], subtracted),
      builder.cast(copier.copy(subtracted), DataType::i32));
}

Computation with_offset(const Computation& factor, std::int64_t offset) {
  return changed(
      factor,
      [&](DefinitionBuilder& builder, DefinitionCopier& copier, ExpressionId root) -> Expression {
        const Expression added = builder.integer(offset, DataType::i32);
        const ExpressionNode& node = factor.definition.node(root);
        if (node.kind != Kind::select)
          return builder.cast(copier.copy(root), DataType::i32) + added;
        return builder.select(copier.copy(node.operands[0]),
                              builder.cast(copier.copy(node.operands[1]), DataType::i32) + added,
                              builder.cast(copier.copy(node.operands[2]), DataType::i32) + added);
      });
}

}  // namespace

std::optional<ScaledFactor> without_scale(const Computation& factor) {
  const Definition& definition = factor.definition;
  ExpressionId product = value_of(factor);
  std::vector<ExpressionId> conditions;
  while (definition.node(product).kind == Kind::select &&
         is_zero(definition.node(definition.node(product).operands[2]))) {
    conditions.push_back(definition.node(product).operands[0]);
    product = definition.node(product).operands[1];
  }
  const ExpressionNode& node = definition.node(product);
  if (node.kind != Kind::multiply) return std::nullopt;
  for (const std::size_t side : {1U, 0U}) {
    const ExpressionId scale = node.operands[side], rest = node.operands[1 - side];
    if (has_variables(definition, scale) || !has_variables(definition, rest)) continue;
    return ScaledFactor{
        changed(factor,
                [&](DefinitionBuilder& builder, DefinitionCopier& copier, ExpressionId) {
                  Expression value = copier.copy(rest);
                  for (std::size_t i = conditions.size(); i-- > 0;)
                    value = builder.select(copier.copy(conditions[i]), value,
                                           builder.constant(0.0, value.type()));
                  return value;
                }),
        scale};
  }
  return std::nullopt;
}

Computation in_type(const Computation& factor, DataType type) {
  return changed(
      factor,
      [&](DefinitionBuilder& builder, DefinitionCopier& copier, ExpressionId root) -> Expression {
        const ExpressionNode& node = factor.definition.node(root);
        if (node.kind == Kind::select)
          return builder.select(copier.copy(node.operands[0]),
                                builder.cast(copier.copy(node.operands[1]), type),
                                builder.cast(copier.copy(node.operands[2]), type));
        // What is only read in another type is read as it is.
        if (node.kind == Kind::cast && factor.definition.node(node.operands[0]).type == type)
          return copier.copy(node.operands[0]);
        return builder.cast(copier.copy(root), type);
      });
}

std::optional<ByteFactor> byte_factor(const Computation& factor, const WholeNumbers& ranges) {
  ByteFactor result{factor};
  auto range = range_of(factor, value_of(factor), ranges);
  if (!range) return std::nullopt;
  if (range->low < 0 || range->high > greatest_byte) {
    result.subtracted = subtracted_from(factor.definition, value_of(factor));
    if (result.subtracted) {
      result.bytes = changed(factor, [&](DefinitionBuilder& builder, DefinitionCopier& copier,
                                         ExpressionId root) {
        return without_subtraction(builder, copier, factor.definition, root, *result.subtracted);
      });
      range = range_of(result.bytes, value_of(result.bytes), ranges);
      if (!range) return std::nullopt;
    }
  }
  if (range->high - range->low > greatest_byte) return std::nullopt;
  if (range->low < 0 || range->high > greatest_byte) {
    result.offset = static_cast<std::int64_t>(-range->low);
    result.bytes = with_offset(result.bytes, result.offset);
  }
  result.bytes = in_type(result.bytes, DataType::u8);
  return result;
}

}  // namespace lemma::backend
