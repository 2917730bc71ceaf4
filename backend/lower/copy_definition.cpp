#include "backend/lower/copy_definition.h"

#include <utility>

namespace lemma::backend {

using Kind = ExpressionKind;

std::vector<bool> reachable_expressions(const Definition& definition, ExpressionId root) {
  std::vector<bool> is_reached(definition.nodes().size(), false);
  is_reached[root.v] = true;
  for (std::size_t i = root.v + 1; i-- > 0;)
    if (is_reached[i])
      for (const ExpressionId operand : definition.nodes()[i].operands)
        is_reached[operand.v] = true;
  return is_reached;
}

std::vector<std::vector<bool>> free_variables(const Definition& definition) {
  const std::size_t count = definition.variable_extents().size();
  std::vector<std::vector<bool>> result;
  for (const ExpressionNode& node : definition.nodes()) {
    std::vector<bool> free(count, false);
    if (node.kind == Kind::index) free[node.variable.v] = true;
    for (const ExpressionId operand : node.operands)
      for (std::size_t v = 0; v < count; ++v)
        if (result[operand.v][v]) free[v] = true;
    for (const VariableId v : node.bound) free[v.v] = false;
    result.push_back(std::move(free));
  }
  return result;
}

std::vector<ExpressionId> outermost_reductions(const Definition& definition, ExpressionId root) {
  std::vector<bool> is_reached(definition.nodes().size(), false);
  is_reached[root.v] = true;
  std::vector<ExpressionId> reductions;
  for (std::uint32_t i = root.v + 1; i-- > 0;) {
    if (!is_reached[i]) continue;
    const ExpressionNode& node = definition.nodes()[i];
    if (is_reduction(node.kind))
      reductions.push_back({i});
    else
      for (const ExpressionId operand : node.operands) is_reached[operand.v] = true;
  }
  return reductions;
}

Expression DefinitionCopier::copy(ExpressionId root) {
  const std::vector<bool> is_reached = reachable_expressions(definition_, root);
  std::vector<Expression> copies(definition_.nodes().size());
  for (std::uint32_t i = 0; i <= root.v; ++i) {
    if (!is_reached[i]) continue;
    std::vector<Expression> operands;
    for (const ExpressionId operand : definition_.nodes()[i].operands)
      operands.push_back(copies[operand.v]);
    const auto replaced = replace_({i}, operands);
    copies[i] = replaced ? *replaced : copy_node({i}, std::move(operands));
  }
  return copies[root.v];
}

Expression DefinitionCopier::variable(VariableId id) {
  const auto entry = variables_.find(id.v);
  if (entry != variables_.end()) return entry->second;
  return variables_.emplace(id.v, builder_.variable(definition_.extent(id))).first->second;
}

Expression DefinitionCopier::copy_node(ExpressionId id, std::vector<Expression> operands) {
  const ExpressionNode& node = definition_.node(id);
  switch (node.kind) {
    case Kind::integer_constant: return builder_.integer(node.integer, node.type);
    case Kind::real_constant: return builder_.real(node.real, node.type);
    case Kind::extent: return builder_.extent(node.extent);
    case Kind::index: return variable(node.variable);
    case Kind::read: return builder_.read(node.input, node.type, std::move(operands));
    case Kind::logical_not: return !operands[0];
    case Kind::select: return builder_.select(operands[0], operands[1], operands[2]);
    case Kind::cast: return builder_.cast(operands[0], node.type);
    case Kind::function: return builder_.apply(node.function, operands[0]);
    default: break;
  }
  if (!is_reduction(node.kind)) return builder_.binary(node.kind, operands[0], operands[1]);
  std::vector<Expression> bound;
  for (const VariableId bound_variable : node.bound) bound.push_back(variable(bound_variable));
  return builder_.reduce(node.kind, std::move(bound), operands[0]);
}

Definition copied_output(const Definition& definition, std::uint32_t output,
                         const std::function<Replace(DefinitionBuilder&)>& make_replace) {
  DefinitionBuilder builder;
  const DefinedOutput& defined = definition.outputs()[output];
  std::vector<Expression> axes;
  std::map<std::uint32_t, Expression> variables;
  for (const VariableId axis : defined.axes) {
    axes.push_back(builder.variable(definition.extent(axis)));
    variables.emplace(axis.v, axes.back());
  }
  DefinitionCopier copier(builder, definition, std::move(variables), make_replace(builder));
  const Expression value = copier.copy(defined.value);
  builder.output(std::move(axes), value);
  return std::move(builder).finish();
}

}  // namespace lemma::backend
