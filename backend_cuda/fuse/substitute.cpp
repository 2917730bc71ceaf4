#include "backend_cuda/fuse/substitute.h"

#include <functional>
#include <map>

namespace lemma::backend {

namespace {

using Kind = ExpressionKind;

std::vector<bool> reachable(const Definition& definition, ExpressionId root) {
  std::vector<bool> is_reached(definition.nodes().size(), false);
  is_reached[root.v] = true;
  for (std::size_t i = root.v + 1; i-- > 0;)
    if (is_reached[i])
      for (const ExpressionId operand : definition.nodes()[i].operands)
        is_reached[operand.v] = true;
  return is_reached;
}

using Variables = std::map<std::uint32_t, Expression>;
using Read = std::function<Expression(const ExpressionNode&, std::vector<Expression>)>;

/// Adds an expression of one definition to another.
class Copier {
 public:
  Copier(DefinitionBuilder& builder, const Definition& definition, Variables variables, Read read)
      : builder_(builder),
        definition_(definition),
        variables_(std::move(variables)),
        read_(std::move(read)) {}

  Expression copy(ExpressionId root) {
    const std::vector<bool> is_reached = reachable(definition_, root);
    std::vector<Expression> copies(definition_.nodes().size());
    for (std::size_t i = 0; i <= root.v; ++i) {
      if (!is_reached[i]) continue;
      const ExpressionNode& node = definition_.nodes()[i];
      std::vector<Expression> operands;
      for (const ExpressionId operand : node.operands) operands.push_back(copies[operand.v]);
      copies[i] = copy_node(node, std::move(operands));
    }
    return copies[root.v];
  }

 private:
  Expression variable(VariableId id) {
    const auto found = variables_.find(id.v);
    if (found != variables_.end()) return found->second;
    return variables_.emplace(id.v, builder_.variable(definition_.extent(id))).first->second;
  }

  Expression copy_node(const ExpressionNode& node, std::vector<Expression> operands) {
    switch (node.kind) {
      case Kind::integer_constant: return builder_.integer(node.integer, node.type);
      case Kind::real_constant: return builder_.real(node.real, node.type);
      case Kind::extent: return builder_.extent(node.extent);
      case Kind::index: return variable(node.variable);
      case Kind::read: return read_(node, std::move(operands));
      case Kind::logical_not: return !operands[0];
      case Kind::select: return builder_.select(operands[0], operands[1], operands[2]);
      case Kind::cast: return builder_.cast(operands[0], node.type);
      case Kind::function: return builder_.apply(node.function, operands[0]);
      default: break;
    }
    if (!is_reduction(node.kind)) return builder_.binary(node.kind, operands[0], operands[1]);
    std::vector<Expression> bound;
    for (const VariableId id : node.bound) bound.push_back(variable(id));
    return builder_.reduce(node.kind, std::move(bound), operands[0]);
  }

  DefinitionBuilder& builder_;
  const Definition& definition_;
  Variables variables_;
  Read read_;
};

const DefinedOutput& output_of(const Computation& computation) {
  return computation.definition.outputs()[computation.output];
}

}  // namespace

Computation substitute(const Computation& reader, std::uint32_t input,
                       const Computation& producer) {
  Computation result = reader;
  result.description = producer.description + " + " + reader.description;
  result.output = 0;
  result.operands[input] = no_buffer;
  result.views[input] = {};
  const auto first = static_cast<std::uint32_t>(result.operands.size());
  result.operands.insert(result.operands.end(), producer.operands.begin(), producer.operands.end());
  result.views.insert(result.views.end(), producer.views.begin(), producer.views.end());

  DefinitionBuilder builder;
  const auto read_producer = [&](const std::vector<Expression>& indices) {
    Variables variables;
    for (std::size_t i = 0; i < indices.size(); ++i)
      variables.emplace(output_of(producer).axes[i].v, indices[i]);
    Copier copier(builder, producer.definition, std::move(variables),
                  [&](const ExpressionNode& node, std::vector<Expression> operands) {
                    return builder.read(first + node.input, node.type, std::move(operands));
                  });
    return copier.copy(output_of(producer).value);
  };
  std::vector<Expression> axes;
  Variables variables;
  for (const VariableId axis : output_of(reader).axes) {
    axes.push_back(builder.variable(reader.definition.extent(axis)));
    variables.emplace(axis.v, axes.back());
  }
  Copier copier(builder, reader.definition, std::move(variables),
                [&](const ExpressionNode& node, std::vector<Expression> operands) {
                  return node.input == input
                             ? read_producer(operands)
                             : builder.read(node.input, node.type, std::move(operands));
                });
  const Expression value = copier.copy(output_of(reader).value);
  builder.output(std::move(axes), value);
  result.definition = std::move(builder).finish();
  return result;
}

std::optional<double> read_count(const Computation& reader, std::uint32_t input) {
  const Definition& definition = reader.definition;
  const std::vector<bool> is_reached = reachable(definition, output_of(reader).value);
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
  const std::vector<bool> below = reachable(definition, {static_cast<std::uint32_t>(*place)});
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
