#include "search/derivation.h"

#include <algorithm>

#include <fmt/format.h>

#include "facts/cut.h"
#include "ir/rebuild.h"
#include "search/congruence.h"

namespace lemma {

namespace {

/// Larger constants stand as inputs: what holds for all values holds for these.
constexpr std::size_t largest_constant = 64;

}  // namespace

// ---- Terms ------------------------------------------------------------------------------------

Result<ValueId> Derivation::constant(const Constant& contents) {
  if (contents.bytes().size() <= largest_constant) return terms_.add_constant(contents);
  auto& alike = large_constants_by_hash_[contents.hash()];
  for (const ValueId value : alike)
    if (large_constants_.at(value) == contents) return value;
  LEMMA_ASSIGN_OR_RETURN(const ValueId value,
                         terms_.add_input(fmt::format("constant {} digest {:016x}",
                                                      large_constants_.size(), contents.digest()),
                                          contents.type()));
  alike.push_back(value);
  large_constants_.emplace(value, contents);
  input_facts_.emplace(value, facts_of_constant(contents));
  return value;
}

Result<ValueId> Derivation::input(const std::string& name, const TensorType& type) {
  const auto known = inputs_.find(name);
  if (known != inputs_.end()) return known->second;
  LEMMA_ASSIGN_OR_RETURN(const ValueId value, terms_.add_input("input " + name, type));
  input_names_.emplace(value, name);
  if (const auto given = given_.find(name); given != given_.end())
    input_facts_.emplace(value, given->second);
  return inputs_[name] = value;
}

/// The outputs of an opaque operator. They are as good as inputs: nothing is known of them.
Result<std::vector<ValueId>> Derivation::opaque_outputs(const OpaqueOperator& op,
                                                        const std::vector<TensorType>& types) {
  std::vector<ValueId> values;
  for (std::size_t k = 0; k < types.size(); ++k) {
    values.push_back(ValueId::none());
    if (!types[k].is_known()) continue;
    LEMMA_ASSIGN_OR_RETURN(values.back(),
                           input(fmt::format("opaque {}#{}", cut_name(op), k), types[k]));
  }
  return values;
}

/// The terms of an operation, by value of its graph, to where those of its operands are.
Result<void> Derivation::add_operation(const Node& node, std::vector<ValueId>& values) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                         add_copy(terms_, node, node.attributes, operands_in(node, values)));
  std::copy(outputs.begin(), outputs.end(), values.begin() + node.first_output);
  return {};
}

Result<std::vector<ValueId>> Derivation::add_graph(const Graph& graph, const InputTerms& inputs) {
  std::vector<ValueId> values(graph.value_count(), ValueId::none());
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    const ValueId first = node.output();
    switch (node.kind) {
      case NodeKind::input: {
        const auto given = inputs.find(graph.input_name(node));
        if (given != inputs.end()) {
          values[first.v] = given->second;
        } else if (graph.type(first).is_known()) {
          LEMMA_ASSIGN_OR_RETURN(values[first.v], input(graph.input_name(node), graph.type(first)));
        }
        break;
      }
      case NodeKind::constant: {
        LEMMA_ASSIGN_OR_RETURN(values[first.v], constant(graph.constant(node)));
        break;
      }
      case NodeKind::opaque: {
        LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                               opaque_outputs(graph.opaque(node), graph.output_types(node)));
        std::copy(outputs.begin(), outputs.end(), values.begin() + first.v);
        break;
      }
      case NodeKind::operation: LEMMA_RETURN_IF_ERROR(add_operation(node, values));
    }
  }
  return values;
}

/// The term of each number of the e-graph.
Result<void> Derivation::add_founding_terms(const EGraph& egraph, std::vector<ValueId>& values) {
  values.resize(egraph.id_count(), ValueId::none());
  std::vector<std::vector<ValueId>> outputs(egraph.id_count());  // of tuples
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const ENode& node = egraph.node({i});
    switch (node.kind) {
      case ENodeKind::input: {
        const TensorType& type = egraph.type(ClassId{i});
        if (!type.is_known()) break;
        LEMMA_ASSIGN_OR_RETURN(values[i], input(egraph.input_name(node), type));
        break;
      }
      case ENodeKind::constant: {
        LEMMA_ASSIGN_OR_RETURN(values[i], constant(egraph.constant(node)));
        break;
      }
      case ENodeKind::opaque: {
        LEMMA_ASSIGN_OR_RETURN(outputs[i],
                               opaque_outputs(egraph.opaque(node), egraph.types(ClassId{i})));
        values[i] = outputs[i].front();
        break;
      }
      case ENodeKind::projection:
        values[i] = outputs[egraph.founding_children({i})[0].v][node.payload];
        break;
      case ENodeKind::operation: {
        std::vector<ValueId> operands;
        for (const ClassId child : egraph.founding_children({i}))
          operands.push_back(child.is_none() ? ValueId::none() : values[child.v]);
        LEMMA_ASSIGN_OR_RETURN(
            const NodeId added,
            terms_.add_operation(node.op, operands, egraph.attributes(node), node.output_count));
        for (std::uint32_t k = 0; k < node.output_count; ++k)
          outputs[i].push_back(terms_.node(added).output(k));
        values[i] = outputs[i].front();
      }
    }
  }
  return {};
}

// ---- Uses -------------------------------------------------------------------------------------

void Derivation::add_use(const Substitution& rule, bool backward, bool refinement,
                         RuleBindings bindings, std::vector<ValueId> inputs) {
  uses_.push_back({backward, refinement, {&rule, std::move(inputs), std::move(bindings)}});
}

Result<std::vector<Derivation::Pair>> Derivation::pairs(const Graph& before, const Graph& after) {
  LEMMA_ASSIGN_OR_RETURN(const Graph cut_before, cut_at_opaque_nodes(before));
  LEMMA_ASSIGN_OR_RETURN(const Graph cut_after, cut_at_opaque_nodes(after));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> values_before, add_graph(cut_before));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> values_after, add_graph(cut_after));
  std::map<std::string, ValueId> outputs_after;
  for (const GraphOutput& output : cut_after.outputs())
    outputs_after[output.name] = values_after[output.value.v];
  std::vector<Pair> result;
  for (const GraphOutput& output : cut_before.outputs()) {
    const auto entry = outputs_after.find(output.name);
    if (entry == outputs_after.end())
      return internal_error(fmt::format("the output '{}' is missing", output.name));
    result.push_back({output.name, values_before[output.value.v], entry->second});
  }
  return result;
}

Result<void> Derivation::adopt(const Derivation& part, const std::set<std::uint32_t>& uses,
                               const InputTerms& inputs) {
  const Graph& theirs = part.terms_;
  std::vector<char> needed(theirs.node_count(), 0);
  for (const std::uint32_t use : uses)
    for (const ValueId value : part.uses_[use].use.inputs) needed[theirs.producer(value).v] = 1;
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i] != 0)
      for (const ValueId operand : theirs.nodes()[i].inputs)
        if (!operand.is_none()) needed[theirs.producer(operand).v] = 1;
  std::vector<ValueId> values(theirs.value_count(), ValueId::none());
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (needed[i] == 0) continue;
    const Node& node = theirs.nodes()[i];
    const ValueId first = node.output();
    if (node.kind == NodeKind::constant) {
      values[first.v] = terms_.add_constant(theirs.constant(node));
    } else if (const auto large = part.large_constants_.find(first);
               large != part.large_constants_.end()) {
      LEMMA_ASSIGN_OR_RETURN(values[first.v], constant(large->second));
    } else if (node.kind == NodeKind::input) {
      const std::string& name = part.input_names_.at(first);
      const auto given = inputs.find(name);
      if (given != inputs.end()) {
        values[first.v] = given->second;
      } else {
        LEMMA_ASSIGN_OR_RETURN(values[first.v], input(name, theirs.type(first)));
      }
    } else {
      LEMMA_RETURN_IF_ERROR(add_operation(node, values));
    }
  }
  for (const std::uint32_t number : uses) {
    Use use = part.uses_[number];
    for (ValueId& value : use.use.inputs) value = values[value.v];
    uses_.push_back(std::move(use));
  }
  return {};
}

Result<Derivation> derivation_of(Derivation result, const EGraph& egraph,
                                 std::span<const Substitution> rules,
                                 std::span<const CompiledRule> compiled,
                                 std::span<const Application> log) {
  std::vector<ValueId> values;
  LEMMA_RETURN_IF_ERROR(result.add_founding_terms(egraph, values));
  std::map<std::string_view, const Substitution*> by_name;
  for (const Substitution& rule : rules) by_name[rule.name] = &rule;
  for (const Application& application : log) {
    const CompiledRule& rule = compiled[application.rule];
    std::vector<ValueId> inputs;
    for (const ClassId id : application.inputs) inputs.push_back(values[id.v]);
    result.add_use(*by_name.at(rule.rule.name), rule.backward, false, application.bindings,
                   std::move(inputs));
  }
  return result;
}

}  // namespace lemma
