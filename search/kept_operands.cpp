#include "search/kept_operands.h"

#include <absl/container/flat_hash_map.h>

#include "ir/rebuild.h"

namespace lemma {
namespace {

/// What constants hold, and operations without operands. Anything else is unknown: what it would take to
/// know more is more than what is found by it.
std::vector<ValueFacts> facts_of_numbers(const Graph& graph,
                                         const std::map<ValueId, ValueFacts>& inputs) {
  std::vector<ValueFacts> facts(graph.value_count());
  for (const Node& node : graph.nodes()) {
    const ValueId first = node.output();
    if (node.kind == NodeKind::constant) {
      facts[first.v] = facts_of_constant(graph.constant(node));
    } else if (node.kind == NodeKind::operation && node.inputs.empty()) {
      const auto results =
          facts_of_outputs(graph.op(node), {{}, node.attributes, node.output_count}, {});
      for (std::uint32_t k = 0; k < node.output_count && k < results.size(); ++k)
        facts[node.output(k).v] = results[k];
    }
  }
  for (const auto& [value, known] : inputs) facts[value.v] = known;
  return facts;
}

/// All that kept_operand() looks at. Many nodes of a graph are alike in it, and building definitions is expensive.
struct Instantiation {
  OperatorId op;
  Attributes attributes;
  std::vector<TensorType> types;               // of operands, then of outputs
  std::vector<std::optional<double>> numbers;  // that all elements of an operand are

  friend bool operator==(const Instantiation&, const Instantiation&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Instantiation& instantiation) {
    for (const TensorType& type : instantiation.types)
      state = H::combine(std::move(state), type.data_type, type.shape.value_or(Shape()));
    for (const std::optional<double> number : instantiation.numbers)
      state = H::combine(std::move(state), number.has_value(), number.value_or(0));
    return H::combine(std::move(state), instantiation.op, instantiation.attributes,
                      instantiation.types.size());
  }
};

class KeptOperands {
 public:
  /// The kept operands by output.
  const std::vector<std::optional<KeptOperand>>& of(const Graph& graph, const Node& node,
                                                    const std::vector<ValueFacts>& facts) {
    Instantiation instantiation{node.op, node.attributes, graph.input_types(node), {}};
    for (const TensorType& type : graph.output_types(node)) instantiation.types.push_back(type);
    std::vector<ValueFacts> operands;
    for (const ValueId input : node.inputs) {
      operands.push_back(input.is_none() ? ValueFacts() : facts[input.v]);
      instantiation.numbers.push_back(common_number(operands.back()));
    }
    const auto [known, is_new] = known_.try_emplace(std::move(instantiation));
    if (is_new)
      for (std::uint32_t k = 0; k < node.output_count; ++k)
        known->second.push_back(kept_operand(graph, node, k, operands));
    return known->second;
  }

 private:
  absl::flat_hash_map<Instantiation, std::vector<std::optional<KeptOperand>>> known_;
};

}  // namespace

std::vector<ValueId> kept_operands(const Graph& graph, const std::map<ValueId, ValueFacts>& inputs,
                                   bool only_bitwise) {
  const std::vector<ValueFacts> facts = facts_of_numbers(graph, inputs);
  std::vector<ValueId> result(graph.value_count(), ValueId::none());
  KeptOperands known;
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::operation || node.inputs.empty()) continue;
    const auto& outputs = known.of(graph, node, facts);
    for (std::uint32_t k = 0; k < node.output_count; ++k)
      if (outputs[k] && (outputs[k]->bitwise || !only_bitwise))
        result[node.output(k).v] = node.inputs[outputs[k]->operand];
  }
  return result;
}

Result<WithoutKept> without_kept_operands(const Graph& graph, bool only_bitwise) {
  const std::vector<ValueId> kept = kept_operands(graph, {}, only_bitwise);
  WithoutKept result;
  const auto type = [](const Graph& source, ValueId value) { return source.type(value); };
  const auto copy = [&](Graph& target, const Node& node,
                        std::vector<ValueId> inputs) -> Result<std::vector<ValueId>> {
    const ValueId operand = node.output_count == 1 ? kept[node.output().v] : ValueId::none();
    for (std::size_t i = 0; !operand.is_none() && i < inputs.size(); ++i) {
      if (node.inputs[i] != operand) continue;
      ++result.left_out;
      return std::vector<ValueId>{inputs[i]};
    }
    return add_copy(target, node, node.attributes, std::move(inputs));
  };
  LEMMA_ASSIGN_OR_RETURN(result.graph, rebuild(graph, type, copy));
  return result;
}

}  // namespace lemma
