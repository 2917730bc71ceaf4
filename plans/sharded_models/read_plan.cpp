#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "plans/partition/strategies.h"
#include "plans/sharded_models/sharded_plan.h"
#include "plans/sharded_models/shards.h"

namespace lemma::plans {

namespace {

constexpr std::int64_t most_devices = 1 << 16;

std::string name_of(const Graph& graph, ValueId value) {
  const Node& node = graph.node(graph.producer(value));
  return node.kind == NodeKind::input ? graph.input_name(node) : graph.suggested_name(value);
}

std::string described(const Graph& graph, const Node& node) {
  return fmt::format("{} '{}'", graph.op(node).name, graph.suggested_name(node.output()));
}

/// What a node says of its tensors.
struct NodeShards {
  std::map<ValueId, Shards> of;
};

/// The specifications of all nodes for one configuration.
class Specifications {
 public:
  Specifications(const Graph& graph, std::int64_t devices) : graph_(graph), devices_(devices) {}

  Result<void> read(const ModelEnvelope& envelope, const std::string& configuration,
                    const std::set<std::string>& declared) {
    LEMMA_ASSIGN_OR_RETURN(auto nodes, node_devices(envelope));
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      if (node.kind == NodeKind::opaque)
        return unsupported(
            fmt::format("{} is not understood, and cannot be split", graph_.opaque(node).name));
      if (node.kind != NodeKind::operation) continue;
      const auto entry = nodes.find(graph_.suggested_name(node.output()));
      if (entry == nodes.end()) continue;
      LEMMA_ASSIGN_OR_RETURN(
          const auto own,
          of_configuration(described(graph_, node), entry->second, configuration, declared));
      if (own != nullptr) LEMMA_RETURN_IF_ERROR(read_node(id, *own));
      nodes.erase(entry);
    }
    for (const auto& [output, entries] : nodes) {
      const std::string place = fmt::format("the node of '{}'", output);
      LEMMA_ASSIGN_OR_RETURN(const auto own,
                             of_configuration(place, entries, configuration, declared));
      if (own != nullptr && !own->specifications.empty())
        return unsupported(fmt::format(
            "{} has specifications, and is no operation of its own in the graph that was read",
            place));
    }
    return {};
  }

  /// Null where the node says nothing.
  const Shards* find(NodeId node, ValueId tensor) const {
    const auto entry = nodes_.find(node);
    if (entry == nodes_.end()) return nullptr;
    const auto shards = entry->second.of.find(tensor);
    return shards == entry->second.of.end() ? nullptr : &shards->second;
  }

  const std::map<NodeId, NodeShards>& nodes() const { return nodes_; }

 private:
  /// What a node says for the configuration; null if it says nothing.
  static Result<const NodeDevices*> of_configuration(const std::string& place,
                                                     const std::vector<NodeDevices>& entries,
                                                     const std::string& configuration,
                                                     const std::set<std::string>& declared) {
    const NodeDevices* own = nullptr;
    for (const NodeDevices& entry : entries) {
      if (!declared.contains(entry.configuration))
        return bad_input(
            fmt::format("{} is for the configuration '{}', which the model does not have", place,
                        entry.configuration));
      if (entry.configuration != configuration) continue;
      if (own != nullptr)
        return bad_input(
            fmt::format("{} says twice what is for the configuration '{}'", place, configuration));
      own = &entry;
    }
    return own;
  }

  Result<void> read_node(NodeId id, const NodeDevices& devices) {
    const Node& node = graph_.node(id);
    for (const ShardingSpecification& specification : devices.specifications) {
      const std::string place = fmt::format("{}, the specification of '{}'",
                                            described(graph_, node), specification.tensor);
      const auto tensor = tensor_of(node, specification.tensor);
      if (!tensor) {
        // Parameters that are no tensors of the graph: axes, shapes.
        if (specification.axes.empty()) continue;
        return bad_input(fmt::format("{}: this is none of its tensors", place));
      }
      const auto& shape = graph_.type(*tensor).shape;
      if (!shape) return unsupported(fmt::format("{}: its sizes are not known", place));
      auto shards = shards_of(specification, *shape, devices_);
      if (!shards) return with_context(place, std::move(shards.error()));
      if (!nodes_[id].of.emplace(*tensor, std::move(*shards)).second)
        return bad_input(fmt::format("{} is there twice", place));
    }
    return {};
  }

  std::optional<ValueId> tensor_of(const Node& node, const std::string& name) const {
    for (const ValueId operand : node.inputs)
      if (!operand.is_none() && name_of(graph_, operand) == name) return operand;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      if (name_of(graph_, node.output(i)) == name) return node.output(i);
    return std::nullopt;
  }

  const Graph& graph_;
  std::int64_t devices_;
  std::map<NodeId, NodeShards> nodes_;
};

/// All devices have parts of each operator.
class PartsOfOperators {
 public:
  PartsOfOperators(const Graph& graph, const Specifications& specifications, DeviceGrid grid)
      : graph_(graph), specifications_(specifications), grid_(std::move(grid)), strategies_(graph) {
    choice_.mesh = grid_.mesh;
    stated_.assign(graph.value_count(), replicated(grid_.mesh));
  }

  Result<PlanChoice> operator()() && {
    for (const NodeId id : graph_.live_nodes())
      if (graph_.node(id).kind == NodeKind::operation) LEMMA_RETURN_IF_ERROR(add(id));
    for (const GraphOutput& output : graph_.outputs())
      choice_.outputs[output.name] = stated_[output.value.v];
    place_sources();
    return std::move(choice_);
  }

 private:
  std::optional<Placement> specified(NodeId id, ValueId tensor) const {
    const Shards* shards = specifications_.find(id, tensor);
    if (shards == nullptr) return std::nullopt;
    return placement_on(grid_, *shards);
  }

  Result<void> add(NodeId id) {
    const Node& node = graph_.node(id);
    NodePlacements placements;
    bool has_operand = false;
    for (const ValueId operand : node.inputs) {
      placements.reads.push_back(replicated(grid_.mesh));
      if (operand.is_none()) continue;
      has_operand = true;
      // Without a specification it is read as it was made.
      placements.reads.back() = specified(id, operand).value_or(stated_[operand.v]);
      readers_[operand].insert(placements.reads.back());
    }
    std::vector<std::optional<Placement>> wanted;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      wanted.push_back(specified(id, node.output(i)));
    if (has_operand) {
      auto given = strategies_.given(node, grid_.mesh, placements.reads, wanted);
      if (!given)
        return with_context(
            fmt::format("{}, with operands as the specifications say", described(graph_, node)),
            std::move(given.error()));
      placements.gives = std::move(given->gives);
    } else {
      placements.gives.assign(node.output_count, replicated(grid_.mesh));
    }
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      stated_[node.output(i).v] = wanted[i].value_or(without_sums(placements.gives[i]));
    choice_.nodes[id] = std::move(placements);
    return {};
  }

  /// Parts of sums are added up on all devices.
  static Placement without_sums(Placement placement) {
    for (Share& share : placement)
      if (share.sharing == Sharing::partial) share = {};
    return placement;
  }

  /// Inputs and weights have no specification. Where all that read one do it in the same way, devices have no more of it.
  void place_sources() {
    for (const GraphOutput& output : graph_.outputs())
      readers_[output.value].insert(choice_.outputs.at(output.name));
    for (const auto& [value, placements] : readers_) {
      const NodeKind kind = graph_.node(graph_.producer(value)).kind;
      if ((kind == NodeKind::input || kind == NodeKind::constant) && placements.size() == 1)
        choice_.sources[value] = *placements.begin();
    }
  }

  const Graph& graph_;
  const Specifications& specifications_;
  DeviceGrid grid_;
  Strategies strategies_;
  PlanChoice choice_;
  std::vector<Placement> stated_;  // by value: as it is where nothing else is said
  std::map<ValueId, std::set<Placement>> readers_;
};

/// Each operator is on one device.
class OwnOperators {
 public:
  OwnOperators(const Graph& graph, const Specifications& specifications, std::int64_t devices)
      : graph_(graph), specifications_(specifications) {
    result_.ranks = static_cast<std::size_t>(devices);
  }

  Result<Assignment> operator()() && {
    LEMMA_ASSIGN_OR_RETURN(const BatchCut cut, cut_batch(graph_, 1));
    std::map<ValueId, std::size_t> place;
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::operation || cut.is_fixed[node.output().v]) continue;
      LEMMA_ASSIGN_OR_RETURN(const auto told, told_place(id));
      std::size_t rank = told.value_or(0);
      if (!told)
        for (const ValueId operand : node.inputs)
          if (const auto known = place.find(operand); known != place.end()) {
            rank = known->second;
            break;
          }
      for (std::uint32_t i = 0; i < node.output_count; ++i) {
        const Shards* made = specifications_.find(id, node.output(i));
        place[node.output(i)] = made == nullptr ? rank : device_of(*made);
      }
      result_.order.push_back({id, 0, rank});
    }
    return std::move(result_);
  }

 private:
  static std::size_t device_of(const Shards& shards) {
    std::size_t device = 0;
    while (!shards.part_of[device]) ++device;
    return device;
  }

  /// Where the operands are read; without these, where the results are made.
  Result<std::optional<std::size_t>> told_place(NodeId id) const {
    const Node& node = graph_.node(id);
    std::optional<std::size_t> result;
    for (const ValueId operand : node.inputs) {
      const Shards* shards = operand.is_none() ? nullptr : specifications_.find(id, operand);
      if (shards == nullptr) continue;
      if (result && *result != device_of(*shards))
        return bad_input(fmt::format("{} reads operands on devices {} and {}",
                                     described(graph_, node), *result, device_of(*shards)));
      result = device_of(*shards);
    }
    for (std::uint32_t i = 0; !result && i < node.output_count; ++i)
      if (const Shards* shards = specifications_.find(id, node.output(i)))
        result = device_of(*shards);
    return result;
  }

  const Graph& graph_;
  const Specifications& specifications_;
  Assignment result_;
};

/// The configuration that is meant.
Result<DeviceConfiguration> configuration_named(const std::vector<DeviceConfiguration>& all,
                                                const std::string& name) {
  std::vector<std::string> names;
  for (const DeviceConfiguration& configuration : all)
    names.push_back(fmt::format("'{}'", configuration.name));
  if (all.empty()) return bad_input("the model has no configuration of devices");
  if (name.empty() && all.size() > 1)
    return bad_input(
        fmt::format("the model has the configurations {}: choose one by --configuration",
                    fmt::join(names, ", ")));
  const auto entry =
      name.empty() ? all.begin()
                   : std::find_if(all.begin(), all.end(), [&](const DeviceConfiguration& other) {
                       return other.name == name;
                     });
  if (entry == all.end())
    return bad_input(
        fmt::format("the model has no configuration '{}', but {}", name, fmt::join(names, ", ")));
  if (entry->device_count < 1 || entry->device_count > most_devices)
    return bad_input(fmt::format("the configuration '{}' has {} devices, not 1 to {}", entry->name,
                                 entry->device_count, most_devices));
  if (!entry->device_names.empty() &&
      entry->device_names.size() != static_cast<std::size_t>(entry->device_count))
    return bad_input(fmt::format("the configuration '{}' has {} devices, and {} names of them",
                                 entry->name, entry->device_count, entry->device_names.size()));
  return *entry;
}

/// The first tensor that is on some devices only, and whether all are on one device each.
struct Spread {
  std::string partly;
  bool is_single = true;
};

Spread spread_of(const Graph& graph, const Specifications& specifications, std::int64_t devices) {
  Spread result;
  for (const auto& [id, node] : specifications.nodes())
    for (const auto& [value, shards] : node.of) {
      const std::size_t count = shards.device_count();
      result.is_single = result.is_single && count == 1;
      if (count < static_cast<std::size_t>(devices) && result.partly.empty())
        result.partly =
            fmt::format("{}, the specification of '{}': it is on {} of {} devices",
                        described(graph, graph.node(id)), name_of(graph, value), count, devices);
    }
  return result;
}

}  // namespace

bool is_sharded(const OnnxModel& model) {
  const auto configurations = device_configurations(model.envelope);
  return configurations && !configurations->empty();
}

Result<ShardedPlan> sharded_plan(const OnnxModel& model, const std::string& configuration) {
  LEMMA_ASSIGN_OR_RETURN(const auto all, device_configurations(model.envelope));
  LEMMA_ASSIGN_OR_RETURN(const DeviceConfiguration devices,
                         configuration_named(all, configuration));
  std::set<std::string> declared;
  for (const DeviceConfiguration& other : all)
    if (!declared.insert(other.name).second)
      return bad_input(fmt::format("the model has two configurations '{}'", other.name));
  Specifications specifications(model.graph, devices.device_count);
  LEMMA_RETURN_IF_ERROR(specifications.read(model.envelope, devices.name, declared));
  const Spread spread = spread_of(model.graph, specifications, devices.device_count);
  if (spread.is_single && devices.device_count > 1 && !specifications.nodes().empty()) {
    LEMMA_ASSIGN_OR_RETURN(Assignment assignment,
                           OwnOperators(model.graph, specifications, devices.device_count)());
    return ShardedPlan(std::move(assignment));
  }
  if (!spread.partly.empty())
    return unsupported(spread.partly +
                       "; only plans with all tensors on all devices, or with each on one, are "
                       "understood");
  std::vector<Shards> tensors;
  for (const auto& [id, node] : specifications.nodes())
    for (const auto& [value, shards] : node.of) tensors.push_back(shards);
  auto grid = grid_of(tensors, devices.device_count);
  if (!grid)
    return unsupported(
        "the devices stand in no grid along whose axes all tensors of the specifications are cut");
  LEMMA_ASSIGN_OR_RETURN(PlanChoice choice,
                         PartsOfOperators(model.graph, specifications, std::move(*grid))());
  return ShardedPlan(std::move(choice));
}

}  // namespace lemma::plans
