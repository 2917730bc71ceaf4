#include "check/native_constants.h"

#include <algorithm>
#include <optional>

#include "interpreter/constant_operation.h"
#include "ir/rebuild.h"

namespace lemma {

namespace {

/// The outputs of an operation on constants; nothing if it cannot be computed.
std::optional<std::vector<Constant>> computed(const Graph& graph, const Node& node,
                                              const std::vector<ValueId>& operands) {
  std::vector<const Constant*> contents;
  for (const ValueId operand : operands)
    contents.push_back(operand.is_none() ? nullptr : graph.constant_of(operand));
  auto outputs = interpreter::evaluate_on_constants(node, contents);
  return outputs ? std::optional(std::move(*outputs)) : std::nullopt;
}

}  // namespace

Result<Graph> with_native_constants(const Graph& graph) {
  const auto same_type = [](const Graph& source, ValueId value) { return source.type(value); };
  const auto fold = [](Graph& target, const Node& node,
                       std::vector<ValueId> inputs) -> Result<std::vector<ValueId>> {
    const bool is_constant =
        !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [&target](ValueId input) {
          return input.is_none() || target.constant_of(input) != nullptr;
        });
    if (is_constant) {
      if (auto constants = computed(target, node, inputs)) {
        std::vector<ValueId> outputs;
        for (Constant& constant : *constants)
          outputs.push_back(target.add_constant(std::move(constant)));
        return outputs;
      }
    }
    return add_copy(target, node, node.attributes, std::move(inputs));
  };
  return rebuild(graph, same_type, fold);
}

}  // namespace lemma
