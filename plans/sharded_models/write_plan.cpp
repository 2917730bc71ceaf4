#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "plans/sharded_models/sharded_plan.h"
#include "plans/sharded_models/shards.h"

namespace lemma::plans {

namespace {

/// The placement of a value as all read it, or as most devices need it: without parts of sums, which no specification has.
class PlanWriter {
 public:
  PlanWriter(const OnnxModel& single, const PlanChoice& choice, const std::string& configuration)
      : graph_(single.graph),
        choice_(choice),
        configuration_(configuration),
        names_(written_names(single.graph)) {}

  Result<std::map<NodeId, NodeDevices>> operator()() && {
    LEMMA_RETURN_IF_ERROR(collect_readers());
    LEMMA_RETURN_IF_ERROR(collect_outputs());
    LEMMA_RETURN_IF_ERROR(check_sources());
    std::map<NodeId, NodeDevices> result;
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::operation) continue;
      LEMMA_ASSIGN_OR_RETURN(result[id], devices_of(id, node));
    }
    return result;
  }

 private:
  NodePlacements placements_of(NodeId id) const {
    const auto told = choice_.nodes.find(id);
    if (told != choice_.nodes.end()) return told->second;
    const Node& node = graph_.node(id);
    return {std::vector<Placement>(node.inputs.size(), replicated(choice_.mesh)),
            std::vector<Placement>(node.output_count, replicated(choice_.mesh))};
  }
  Placement source_placement(ValueId value) const {
    const auto told = choice_.sources.find(value);
    return told == choice_.sources.end() ? replicated(choice_.mesh) : told->second;
  }
  std::string described(const Node& node) const {
    return fmt::format("{} '{}'", graph_.op(node).name, names_[node.output().v]);
  }

  Result<void> collect_readers() {
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      if (node.kind == NodeKind::opaque)
        return unsupported(
            fmt::format("{} is not understood, and cannot be split", graph_.opaque(node).name));
      if (node.kind != NodeKind::operation) continue;
      const NodePlacements placements = placements_of(id);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i].is_none()) continue;
        if (is_partial(placements.reads[i]))
          return unsupported(
              fmt::format("{} reads '{}' as parts of a sum, which no specification can say",
                          described(node), names_[node.inputs[i].v]));
        readers_[node.inputs[i]].insert(placements.reads[i]);
      }
    }
    return {};
  }

  Result<void> collect_outputs() {
    for (const GraphOutput& output : graph_.outputs()) {
      const auto told = choice_.outputs.find(output.name);
      const Placement placement =
          told == choice_.outputs.end() ? replicated(choice_.mesh) : told->second;
      if (is_partial(placement))
        return unsupported(fmt::format(
            "output '{}' is left as parts of a sum, which no specification can say", output.name));
      const auto [entry, is_new] = outputs_.emplace(output.value, placement);
      if (!is_new && !(entry->second == placement))
        return unsupported(fmt::format(
            "output '{}' is a value that is placed otherwise as another output", output.name));
    }
    return {};
  }

  /// A specification is of a node: where an input or weight is before does not stand anywhere.
  Result<void> check_sources() const {
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::input && node.kind != NodeKind::constant) continue;
      const ValueId value = node.output();
      const Placement placement = source_placement(value);
      const auto output = outputs_.find(value);
      if (output != outputs_.end() && !(output->second == replicated(choice_.mesh)))
        return unsupported(fmt::format(
            "'{}' is handed on to an output in parts, and no node has a specification of it",
            names_[value.v]));
      if (placement == replicated(choice_.mesh)) continue;
      const auto readers = readers_.find(value);
      if (readers == readers_.end()) continue;
      for (const Placement& read : readers->second)
        if (!(read == placement))
          return unsupported(fmt::format(
              "'{}' is placed {} and read {}: no specification says where an input or weight is "
              "before it is read",
              names_[value.v], text(placement, choice_.mesh), text(read, choice_.mesh)));
    }
    return {};
  }

  /// How an output is said to be made.
  Placement stated(ValueId value, Placement placement) const {
    if (const auto output = outputs_.find(value); output != outputs_.end()) return output->second;
    const auto readers = readers_.find(value);
    const bool is_read_alike = readers != readers_.end() && readers->second.size() == 1;
    for (std::size_t i = 0; i < placement.size(); ++i)
      if (placement[i].sharing == Sharing::partial)
        placement[i] = is_read_alike ? readers->second.begin()->at(i) : Share{};
    return placement;
  }

  Result<NodeDevices> devices_of(NodeId id, const Node& node) const {
    NodeDevices result{configuration_, {}, std::nullopt};
    const NodePlacements placements = placements_of(id);
    std::map<ValueId, Placement> read;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId value = node.inputs[i];
      if (value.is_none()) continue;
      const auto [entry, is_new] = read.emplace(value, placements.reads[i]);
      if (!is_new && !(entry->second == placements.reads[i]))
        return unsupported(
            fmt::format("{} reads '{}' in two ways, and a specification has one for each tensor",
                        described(node), names_[value.v]));
      if (is_new) result.specifications.push_back(specification(value, placements.reads[i]));
    }
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      result.specifications.push_back(
          specification(node.output(i), stated(node.output(i), placements.gives[i])));
    return result;
  }

  ShardingSpecification specification(ValueId value, const Placement& placement) const {
    return specification_of(names_[value.v], *graph_.type(value).shape, placement, choice_.mesh);
  }

  const Graph& graph_;
  const PlanChoice& choice_;
  const std::string& configuration_;
  std::vector<std::string> names_;  // by value
  std::map<ValueId, std::set<Placement>> readers_;
  std::map<ValueId, Placement> outputs_;
};

ShardingSpecification on_device(std::string tensor, std::size_t device) {
  ShardingSpecification result;
  result.tensor = std::move(tensor);
  result.devices.push_back(static_cast<std::int64_t>(device));
  return result;
}

}  // namespace

Result<OnnxModel> with_plan(const OnnxModel& single, const PlanChoice& choice,
                            const std::string& configuration) {
  LEMMA_ASSIGN_OR_RETURN(const auto nodes, PlanWriter(single, choice, configuration)());
  return with_devices(single, {configuration, choice.mesh.device_count(), {}}, nodes);
}

Result<OnnxModel> with_plan(const OnnxModel& single, const Assignment& assignment,
                            const std::string& configuration) {
  if (assignment.parts > 1)
    return unsupported(
        "the plan has microbatches, and specifications say nothing of parts of a batch");
  const std::vector<std::string> names = written_names(single.graph);
  std::map<NodeId, NodeDevices> nodes;
  for (const PlacedOperator& placed : assignment.order) {
    const Node& node = single.graph.node(placed.node);
    NodeDevices devices{configuration, {}, static_cast<std::int64_t>(placed.rank)};
    std::set<ValueId> known;
    for (const ValueId operand : node.inputs)
      if (!operand.is_none() && known.insert(operand).second)
        devices.specifications.push_back(on_device(names[operand.v], placed.rank));
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      devices.specifications.push_back(on_device(names[node.output(i).v], placed.rank));
    nodes.emplace(placed.node, std::move(devices));
  }
  return with_devices(single, {configuration, static_cast<std::int64_t>(assignment.ranks), {}},
                      nodes);
}

}  // namespace lemma::plans
