#include "search/term_facts.h"

#include <utility>

#include "facts/opaque_facts.h"

namespace lemma {

const ValueFacts& TermFacts::of(ValueId root) {
  facts_.resize(terms_.value_count());
  known_.resize(terms_.node_count(), 0);
  std::vector<NodeId> stack = {terms_.producer(root)};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    const Node& node = terms_.node(id);
    const std::size_t before = stack.size();
    if (known_[id.v] == 0)
      for (const ValueId input : node.inputs)
        if (!input.is_none() && known_[terms_.producer(input).v] == 0)
          stack.push_back(terms_.producer(input));
    if (stack.size() != before) continue;
    stack.pop_back();
    if (std::exchange(known_[id.v], 1) == 0) compute(node);
  }
  return facts_[root.v];
}

void TermFacts::compute(const Node& node) {
  const ValueId first = node.output();
  if (node.kind == NodeKind::input) {
    const auto given = inputs_.find(first);
    const DataType type = terms_.type(first).data_type;
    facts_[first.v] =
        given != inputs_.end()
            ? given->second
            : facts_of_cut_output(terms_.input_name(node), type).value_or(facts_of_input(type));
    return;
  }
  if (node.kind == NodeKind::constant) {
    facts_[first.v] = facts_of_constant(terms_.constant(node));
    return;
  }
  std::vector<ValueFacts> operands;
  std::vector<std::uint32_t> identities;
  for (const ValueId input : node.inputs) {
    operands.push_back(input.is_none() ? ValueFacts() : facts_[input.v]);
    identities.push_back(input.v);
  }
  const std::vector<TensorType> types = terms_.input_types(node);
  const auto results = facts_of_outputs(
      terms_.op(node), {types, node.attributes, node.output_count}, operands, identities, reads_);
  for (std::uint32_t k = 0; k < node.output_count && k < results.size(); ++k)
    facts_[node.output(k).v] = results[k];
}

}  // namespace lemma
