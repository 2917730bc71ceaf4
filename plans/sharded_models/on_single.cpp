#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ir/rebuild.h"
#include "plans/lift/weights.h"
#include "plans/sharded_models/sharded_plan.h"

namespace lemma::plans {

namespace {

/// What inputs and constants of a model are in the single-device one.
class Sources {
 public:
  Sources(const Graph& own, const Graph& single)
      : own_(own), single_(single), weights_(single, no_axes_) {
    for (const NodeId id : single.inputs())
      inputs_.emplace(single.input_name(single.node(id)), single.node(id).output());
  }

  /// Nothing for a constant that is none of the single-device model's.
  Result<std::optional<ValueId>> find(ValueId value) const {
    const Node& node = own_.node(own_.producer(value));
    if (node.kind == NodeKind::constant) {
      const auto weight = weights_.find(own_.suggested_name(value), {&own_.constant(node)});
      return weight ? std::optional(weight->single) : std::nullopt;
    }
    const std::string& name = own_.input_name(node);
    const auto input = inputs_.find(name);
    if (input == inputs_.end())
      return bad_input(fmt::format("the single-device model has no input '{}'", name));
    if (!(single_.type(input->second) == own_.type(value)))
      return bad_input(fmt::format("input '{}' is {}, and {} in the single-device model", name,
                                   text(own_.type(value)), text(single_.type(input->second))));
    return std::optional(input->second);
  }

  Result<void> check_outputs() const {
    for (const GraphOutput& output : own_.outputs()) {
      const auto single =
          std::find_if(single_.outputs().begin(), single_.outputs().end(),
                       [&](const GraphOutput& other) { return other.name == output.name; });
      if (single == single_.outputs().end())
        return bad_input(fmt::format("the single-device model has no output '{}'", output.name));
      if (!(single_.type(single->value) == own_.type(output.value)))
        return bad_input(fmt::format("output '{}' is {}, and {} in the single-device model",
                                     output.name, text(own_.type(output.value)),
                                     text(single_.type(single->value))));
    }
    if (own_.outputs().size() != single_.outputs().size())
      return bad_input(fmt::format("the model has {} outputs, and the single-device model {}",
                                   own_.outputs().size(), single_.outputs().size()));
    return {};
  }

 private:
  const Graph& own_;
  const Graph& single_;
  Mesh no_axes_;
  Weights weights_;
  std::map<std::string, ValueId> inputs_;
};

}  // namespace

Result<Program> on_single(const Program& program, const Graph& own, const Graph& single) {
  const Sources sources(own, single);
  LEMMA_RETURN_IF_ERROR(sources.check_outputs());
  Program result;
  result.mesh = program.mesh;
  result.outputs = program.outputs;
  std::map<ValueId, const ProgramInput*> inputs;
  for (const ProgramInput& input : program.inputs) inputs.emplace(input.value, &input);
  std::vector<ValueId> values(program.graph.value_count(), ValueId::none());
  for (const NodeId id : program.graph.live_nodes()) {
    const Node& node = program.graph.node(id);
    const auto input = inputs.find(node.output());
    if (input == inputs.end()) {
      LEMMA_RETURN_IF_ERROR(copy_node(program.graph, node, result.graph, values));
      continue;
    }
    const ProgramInput& given = *input->second;
    LEMMA_ASSIGN_OR_RETURN(const auto known, sources.find(given.single));
    if (known) {
      LEMMA_RETURN_IF_ERROR(copy_node(program.graph, node, result.graph, values));
      result.inputs.push_back({values[given.value.v], *known, given.placement});
      continue;
    }
    const ValueId whole = result.graph.add_constant(*own.constant_of(given.single));
    LEMMA_ASSIGN_OR_RETURN(values[given.value.v],
                           place(result.graph, whole, given.placement, result.mesh));
  }
  for (const GraphOutput& output : program.graph.outputs())
    LEMMA_RETURN_IF_ERROR(result.graph.add_output(output.name, values[output.value.v]));
  return result;
}

Result<RankedProgram> on_single(RankedProgram program, const Graph& own, const Graph& single) {
  const Sources sources(own, single);
  LEMMA_RETURN_IF_ERROR(sources.check_outputs());
  const auto replace = [&](ValueId& value) -> Result<void> {
    LEMMA_ASSIGN_OR_RETURN(const auto known, sources.find(value));
    if (!known)
      return bad_input(fmt::format("weight '{}' is none of the single-device model's",
                                   own.suggested_name(value)));
    value = *known;
    return {};
  };
  for (ProgramInput& input : program.program.inputs) LEMMA_RETURN_IF_ERROR(replace(input.single));
  for (auto& rank : program.sources)
    for (RankSource& source : rank) LEMMA_RETURN_IF_ERROR(replace(source.single));
  return program;
}

}  // namespace lemma::plans
