#include "plans/lift/rank_models.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "frontend_onnx/kept_node.h"
#include "made_operators/per_device.h"
#include "plans/lift/weights.h"

namespace lemma::plans {

namespace {

std::int64_t number(std::size_t value) { return static_cast<std::int64_t>(value); }

/// A value of each rank's model.
using RankValues = std::vector<ValueId>;

class Lift {
 public:
  Lift(const OnnxModel& single, const RankModels& ranks)
      : single_(single.graph), ranks_(ranks), weights_(single.graph, ranks.mesh) {
    program_.mesh = ranks.mesh;
    for (const NodeId id : single_.inputs())
      single_inputs_.emplace(single_.input_name(single_.node(id)), single_.node(id).output());
  }

  Result<Program> operator()() && {
    const Graph& first = graph(0);
    for (std::size_t i = 0; i < first.outputs().size(); ++i) {
      LEMMA_RETURN_IF_ERROR(add_output(i));
    }
    if (program_.outputs.size() != single_.outputs().size())
      return bad_input(fmt::format("the models of the ranks have {} outputs, not {}",
                                   program_.outputs.size(), single_.outputs().size()));
    return std::move(program_);
  }

 private:
  const Graph& graph(std::size_t rank) const { return ranks_.models[rank]->graph; }

  Result<void> add_output(std::size_t i) {
    const std::string& name = graph(0).outputs()[i].name;
    RankValues values;
    for (std::size_t rank = 0; rank < ranks_.models.size(); ++rank) {
      const auto& outputs = graph(rank).outputs();
      const auto output = std::find_if(outputs.begin(), outputs.end(),
                                       [&](const GraphOutput& o) { return o.name == name; });
      if (output == outputs.end())
        return bad_input(fmt::format("rank {} has no output '{}'", rank, name));
      values.push_back(output->value);
    }
    const auto single = std::find_if(single_.outputs().begin(), single_.outputs().end(),
                                     [&](const GraphOutput& o) { return o.name == name; });
    if (single == single_.outputs().end())
      return bad_input(fmt::format("the single-device model has no output '{}'", name));
    LEMMA_ASSIGN_OR_RETURN(const ValueId value, lifted(values));
    LEMMA_ASSIGN_OR_RETURN(Placement placement, placement_of(name, single_.type(single->value),
                                                             graph(0).type(values[0])));
    LEMMA_RETURN_IF_ERROR(program_.graph.add_output(name, value));
    program_.outputs.push_back({name, std::move(placement)});
    return {};
  }

  /// As it is told; otherwise the only one without partial shares that the shapes allow, replicas before parts.
  Result<Placement> placement_of(const std::string& name, const TensorType& whole,
                                 const TensorType& local) const {
    if (const auto told = ranks_.placements.find(name); told != ranks_.placements.end()) {
      if (whole.shape && local.shape) {
        const auto shape = local_shape(*whole.shape, told->second, ranks_.mesh);
        if (!shape) return tl::unexpected(shape.error());
        if (*shape != *local.shape)
          return bad_input(fmt::format("'{}' has the shape {} on a device, not {}", name,
                                       lemma::text(*local.shape), lemma::text(*shape)));
      }
      return told->second;
    }
    if (!whole.shape || !local.shape)
      return unsupported(fmt::format("the shape of '{}' is not known", name));
    const std::vector<Placement> possible =
        placements_between(*whole.shape, *local.shape, ranks_.mesh, {});
    if (possible.empty())
      return bad_input(fmt::format("'{}' has the shape {} on a device, which is no part of {}",
                                   name, lemma::text(*local.shape), lemma::text(*whole.shape)));
    if (possible.size() > 1)
      return bad_input(fmt::format(
          "how '{}' is placed can be told in {} ways by its shapes {} and {}: say it by --place",
          name, possible.size(), lemma::text(*whole.shape), lemma::text(*local.shape)));
    return possible.front();
  }

  Result<ValueId> lifted(const RankValues& values) {
    // Without recursion: models are deep.
    std::vector<RankValues> open = {values};
    while (!open.empty()) {
      const RankValues next = open.back();
      if (known_.contains(next)) {
        open.pop_back();
        continue;
      }
      bool waits = false;
      const Node& first = graph(0).node(graph(0).producer(next[0]));
      for (std::size_t i = first.inputs.size(); i-- > 0;) {
        LEMMA_ASSIGN_OR_RETURN(const std::optional<RankValues> operand, operands_at(next, i));
        if (!operand || known_.contains(*operand)) continue;
        open.push_back(*operand);
        waits = true;
      }
      if (waits) continue;
      open.pop_back();
      LEMMA_RETURN_IF_ERROR(add(next));
    }
    return known_.at(values);
  }

  const Node& producer(const RankValues& values, std::size_t rank) const {
    return graph(rank).node(graph(rank).producer(values[rank]));
  }
  std::string described(const RankValues& values) const {
    const Graph& first = graph(0);
    const Node& node = first.node(first.producer(values[0]));
    const std::string_view op = node.kind == NodeKind::opaque      ? first.opaque(node).name
                                : node.kind == NodeKind::operation ? first.op(node).name
                                                                   : "value";
    return fmt::format("{} '{}'", op, first.suggested_name(values[0]));
  }

  /// Nothing for an absent one.
  Result<std::optional<RankValues>> operands_at(const RankValues& values, std::size_t i) const {
    RankValues result;
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
      const Node& node = producer(values, rank);
      if (node.inputs.size() <= i ||
          node.inputs[i].is_none() != producer(values, 0).inputs[i].is_none())
        return different(values, rank);
      result.push_back(node.inputs[i]);
    }
    if (result[0].is_none()) return std::optional<RankValues>();
    return std::optional(std::move(result));
  }

  Error different_error(const RankValues& values, std::size_t rank) const {
    return {ErrorKind::unsupported,
            fmt::format("ranks 0 and {} run different programs: they differ at {}", rank,
                        described(values))};
  }
  tl::unexpected<Error> different(const RankValues& values, std::size_t rank) const {
    return tl::unexpected(different_error(values, rank));
  }

  Result<void> add(const RankValues& values) {
    const Node& first = producer(values, 0);
    for (std::size_t rank = 1; rank < values.size(); ++rank) {
      const Node& node = producer(values, rank);
      if (node.kind != first.kind || node.inputs.size() != first.inputs.size() ||
          graph(rank).output_index(values[rank]) != graph(0).output_index(values[0]))
        return different(values, rank);
    }
    Result<ValueId> value = internal_error("a node of no kind");
    switch (first.kind) {
      case NodeKind::input: value = input(values); break;
      case NodeKind::constant: value = constant(values); break;
      case NodeKind::operation: value = operation(values); break;
      case NodeKind::opaque: value = collective(values); break;
    }
    if (!value) return tl::unexpected(value.error());
    program_.graph.suggest_name(*value, graph(0).suggested_name(values[0]));
    known_.emplace(values, *value);
    return {};
  }

  TensorType distributed(TensorType local) const {
    Shape shape;
    for (const MeshAxis& axis : ranks_.mesh.axes) shape.emplace_back(axis.size);
    shape.insert(shape.end(), local.shape->begin(), local.shape->end());
    return {local.data_type, std::move(shape)};
  }

  Result<ValueId> add_placed(const std::string& name, ValueId single, const TensorType& local,
                             Placement placement) {
    const auto key = std::pair(single, lemma::text(local) + text(placement, ranks_.mesh));
    if (const auto known = placed_.find(key); known != placed_.end()) return known->second;
    LEMMA_ASSIGN_OR_RETURN(const ValueId value, program_.graph.add_input(name, distributed(local)));
    program_.inputs.push_back({value, single, std::move(placement)});
    placed_.emplace(key, value);
    return value;
  }

  Result<ValueId> input(const RankValues& values) {
    const std::string& name = graph(0).input_name(producer(values, 0));
    const TensorType& local = graph(0).type(values[0]);
    for (std::size_t rank = 1; rank < values.size(); ++rank)
      if (graph(rank).input_name(producer(values, rank)) != name ||
          !(graph(rank).type(values[rank]) == local))
        return different(values, rank);
    const auto single = single_inputs_.find(name);
    if (single == single_inputs_.end())
      return bad_input(fmt::format("the single-device model has no input '{}'", name));
    if (!local.is_known())
      return unsupported(fmt::format("the type of input '{}' is not known", name));
    LEMMA_ASSIGN_OR_RETURN(Placement placement,
                           placement_of(name, single_.type(single->second), local));
    return add_placed(name, single->second, local, std::move(placement));
  }

  Result<ValueId> constant(const RankValues& values) {
    std::vector<const Constant*> contents;
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
      contents.push_back(&graph(rank).constant(producer(values, rank)));
      if (!(contents.back()->type() == contents.front()->type())) return different(values, rank);
    }
    const std::string& name = graph(0).suggested_name(values[0]);
    if (auto weight = weights_.find(name, contents))
      return add_placed(fmt::format("weight {} {}", program_.inputs.size(), name), weight->single,
                        contents[0]->type(), std::move(weight->placement));
    if (std::all_of(contents.begin(), contents.end(),
                    [&](const Constant* other) { return *other == *contents[0]; }))
      return on_each_device(program_.graph.add_constant(*contents[0]));
    return program_.graph.add_constant(stacked(contents, ranks_.mesh));
  }

  Result<ValueId> on_each_device(ValueId value) {
    return place(program_.graph, value, replicated(ranks_.mesh), ranks_.mesh);
  }

  Result<ValueId> operation(const RankValues& values) {
    const Node& first = producer(values, 0);
    for (std::size_t rank = 1; rank < values.size(); ++rank) {
      const Node& node = producer(values, rank);
      if (node.op != first.op || node.output_count != first.output_count ||
          !(node.attributes == first.attributes))
        return different(values, rank);
    }
    std::vector<ValueId> operands;
    bool has_operand = false;
    for (std::size_t i = 0; i < first.inputs.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(const std::optional<RankValues> operand, operands_at(values, i));
      operands.push_back(operand ? known_.at(*operand) : ValueId::none());
      has_operand |= operand.has_value();
    }
    const std::uint32_t output = graph(0).output_index(values[0]);
    if (!has_operand) {
      LEMMA_ASSIGN_OR_RETURN(
          const NodeId node,
          program_.graph.add_operation(first.op, {}, first.attributes, first.output_count));
      return on_each_device(program_.graph.node(node).output(output));
    }
    LEMMA_ASSIGN_OR_RETURN(
        const NodeId node,
        program_.graph.add_operation(
            operator_named(made_operators::per_device_name(record(first.op).name)),
            std::move(operands),
            made_operators::per_device_attributes(first.attributes, ranks_.mesh.rank()),
            first.output_count));
    return program_.graph.node(node).output(output);
  }

  /// The axes of the mesh along which a group of so many devices communicates.
  Result<std::vector<std::size_t>> group_axes(const RankValues& values, std::int64_t size) const {
    std::vector<std::size_t> all, matching;
    for (std::size_t i = 0; i < ranks_.mesh.rank(); ++i) {
      all.push_back(i);
      if (ranks_.mesh.axes[i].size == size) matching.push_back(i);
    }
    if (size == ranks_.mesh.device_count()) return all;
    if (matching.size() == 1) return matching;
    return unsupported(
        fmt::format("{}: a group of {} devices is no axis of the mesh", described(values), size));
  }

  Result<ValueId> collective(const RankValues& values) {
    std::vector<KeptNode> nodes;
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
      LEMMA_ASSIGN_OR_RETURN(KeptNode node,
                             KeptNode::read(graph(rank).opaque(producer(values, rank)),
                                            ranks_.models[rank]->envelope));
      nodes.push_back(std::move(node));
      if (nodes.back().name() != nodes[0].name() ||
          !(nodes.back().attributes().values == nodes[0].attributes().values))
        return different(values, rank);
    }
    const KeptNode& node = nodes[0];
    if (node.domain() != "com.microsoft" && node.domain() != "lemma")
      return unsupported(fmt::format("{} is not understood", described(values)));
    LEMMA_ASSIGN_OR_RETURN(const std::optional<RankValues> operand, operands_at(values, 0));
    if (!operand) return bad_input(fmt::format("{} has no operand", described(values)));
    const NodeAttributes& attributes = node.attributes();
    LEMMA_ASSIGN_OR_RETURN(
        const std::vector<std::size_t> axes,
        group_axes(values, attributes.integer("group_size", ranks_.mesh.device_count())));
    const bool is_by_axes = node.name() == "AllReduce" || node.name() == "AllGather" ||
                            node.name() == "ReduceScatter" || node.name() == "OwnPart";
    if (axes.size() > 1 && !is_by_axes)
      return unsupported(fmt::format(
          "{} among all devices is understood for a mesh of one axis only", described(values)));
    ValueId result = known_.at(*operand);
    // A tensor is gathered along the fastest axis first, and scattered along the slowest.
    const bool gathers = node.name() == "AllGather";
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::size_t axis = gathers ? axes[axes.size() - 1 - i] : axes[i];
      LEMMA_ASSIGN_OR_RETURN(result, along(values, node, result, axis));
    }
    return result;
  }

  Result<ValueId> along(const RankValues& values, const KeptNode& node, ValueId operand,
                        std::size_t device_axis) {
    const NodeAttributes& given = node.attributes();
    Attributes attributes = {{"device_axis", number(device_axis)}};
    // In the tensor without this axis of devices, the others stand in front.
    const auto axis_of = [&](std::string_view name) {
      return given.integer(name, 0) + number(ranks_.mesh.rank()) - 1;
    };
    const std::string name = node.name();
    if (name == "AllReduce" || name == "ReduceScatter")
      attributes.set("reduction", given.string("reduction", "sum"));
    if (name == "AllGather" || name == "OwnPart" || name == "ReduceScatter") {
      attributes.set("axis", axis_of("axis"));
    } else if (name == "AllToAll") {
      attributes.set("split_axis", axis_of("split_axis"));
      attributes.set("concat_axis", axis_of("concat_axis"));
    } else if (name == "Permute") {
      attributes.set("shift", given.integer("shift", 1));
      attributes.set("ring", given.integer("ring", 0));
    } else if (name == "Broadcast") {
      attributes.set("root", Dimension(given.integer("root", 0)));
    } else if (name != "AllReduce") {
      return unsupported(fmt::format("{} is not understood", described(values)));
    }
    return program_.graph.add(name, {operand}, std::move(attributes));
  }

  const Graph& single_;
  const RankModels& ranks_;
  Weights weights_;
  Program program_;
  std::map<std::string, ValueId, std::less<>> single_inputs_;
  std::map<RankValues, ValueId> known_;
  std::map<std::pair<ValueId, std::string>, ValueId> placed_;
};

}  // namespace

Result<Program> lift(const OnnxModel& single, const RankModels& ranks) {
  if (ranks.models.size() != static_cast<std::size_t>(ranks.mesh.device_count()))
    return bad_input(fmt::format("{} models are given for a mesh of {} devices",
                                 ranks.models.size(), ranks.mesh.device_count()));
  return Lift(single, ranks)();
}

}  // namespace lemma::plans
