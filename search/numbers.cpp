#include "search/numbers.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "ir/rebuild.h"

namespace lemma {
namespace {

std::optional<double> number_of(const Graph& graph, ValueId value) {
  if (value.is_none() || !is_real(graph.type(value).data_type)) return std::nullopt;
  const Node& node = graph.node(graph.producer(value));
  if (node.kind != NodeKind::constant || graph.type(value).shape->size() > 1) return std::nullopt;
  const std::vector<double> elements = graph.constant(node).reals();
  if (elements.size() != 1 || !std::isfinite(elements[0])) return std::nullopt;
  if (elements[0] == 0 && std::signbit(elements[0])) return std::nullopt;
  return elements[0];
}

}  // namespace

Result<Graph> with_numbers_as_operators(const Graph& graph) {
  std::map<ValueId, ValueId> made;  // by constant of the source
  const auto type = [](const Graph& source, ValueId value) { return source.type(value); };
  const auto number = [&](Graph& target, ValueId constant, double value) -> Result<ValueId> {
    if (const auto entry = made.find(constant); entry != made.end()) return entry->second;
    Attributes attributes;
    attributes.set("data_type", graph.type(constant).data_type);
    attributes.set("shape", *graph.type(constant).shape);
    attributes.set("value", value);
    LEMMA_ASSIGN_OR_RETURN(
        const NodeId added,
        target.add_operation(operator_named("ConstantOfShape"), {}, attributes, 1));
    const ValueId result = target.node(added).output();
    target.suggest_name(result, graph.suggested_name(constant));
    made[constant] = result;
    return result;
  };
  const auto copy = [&](Graph& target, const Node& node,
                        std::vector<ValueId> inputs) -> Result<std::vector<ValueId>> {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (const auto value = number_of(graph, node.inputs[i])) {
        LEMMA_ASSIGN_OR_RETURN(inputs[i], number(target, node.inputs[i], *value));
      }
    return add_copy(target, node, node.attributes, std::move(inputs));
  };
  return rebuild(graph, type, copy);
}

}  // namespace lemma
