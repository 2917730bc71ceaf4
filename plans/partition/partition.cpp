#include "plans/partition/partition.h"

#include <algorithm>

#include <fmt/format.h>

#include "made_operators/per_device.h"
#include "plans/partition/strategies.h"

namespace lemma::plans {

namespace {

std::int64_t number(std::size_t value) { return static_cast<std::int64_t>(value); }

bool cuts(const Placement& placement, std::size_t mesh_axis, std::size_t axis) {
  return placement[mesh_axis].sharing == Sharing::parted && placement[mesh_axis].axis == axis;
}

/// Whether another axis of the mesh cuts the same axis of the tensor, before or after: parts are nested then.
bool is_nested(const Placement& from, const Placement& to, std::size_t mesh_axis) {
  for (std::size_t other = 0; other < from.size(); ++other) {
    if (other == mesh_axis) continue;
    for (const Placement* placement : {&from, &to})
      if (placement->at(mesh_axis).sharing == Sharing::parted &&
          (cuts(from, other, placement->at(mesh_axis).axis) ||
           cuts(to, other, placement->at(mesh_axis).axis)))
        return true;
  }
  return false;
}

class Move {
 public:
  Move(Graph& graph, const Mesh& mesh, Placement from)
      : graph_(graph), mesh_(mesh), current_(std::move(from)) {}

  Result<ValueId> operator()(ValueId value, const Placement& to) {
    value_ = value;
    if (current_ == to) return value_;
    // What is partial first: with parts to be made of it, that is the cheaper half of a sum. The last axis comes first, as
    // in reduced(): reductions of different kinds do not commute.
    for (std::size_t i = current_.size(); i-- > 0;)
      if (current_[i].sharing == Sharing::partial && !(current_[i] == to[i]))
        LEMMA_RETURN_IF_ERROR(step(i, is_nested(current_, to, i) ? Share{} : to[i]));
    // Nested parts are joined from the inside, and cut from the outside.
    for (std::size_t i = current_.size(); i-- > 0;)
      if (current_[i].sharing == Sharing::parted && is_nested(current_, to, i))
        LEMMA_RETURN_IF_ERROR(step(i, Share{}));
    for (std::size_t i = 0; i < current_.size(); ++i) LEMMA_RETURN_IF_ERROR(step(i, to[i]));
    return value_;
  }

 private:
  Result<void> step(std::size_t i, const Share& to) {
    const Share from = current_[i];
    if (from == to || mesh_.axes[i].size == 1) {
      current_[i] = to;
      return {};
    }
    if (to.sharing == Sharing::partial)
      return bad_input("what is whole or in parts cannot be read as partial");
    current_[i] = to;
    Attributes attributes = {{"device_axis", number(i)}};
    // An axis of the tensor without this axis of devices.
    const auto axis = [&](const Share& share) { return number(share.axis + mesh_.rank() - 1); };
    std::string_view op = "AllReduce";
    if (from.sharing == Sharing::partial)
      attributes.set("reduction", std::string(name(from.reduction)));
    if (from.sharing == Sharing::partial && to.sharing == Sharing::parted) {
      op = "ReduceScatter";
      attributes.set("axis", axis(to));
    } else if (from.sharing == Sharing::replicated) {
      op = "OwnPart";
      attributes.set("axis", axis(to));
    } else if (from.sharing == Sharing::parted && to.sharing == Sharing::parted) {
      op = "AllToAll";
      attributes.set("split_axis", axis(to));
      attributes.set("concat_axis", axis(from));
    } else if (from.sharing == Sharing::parted) {
      op = "AllGather";
      attributes.set("axis", axis(from));
    }
    LEMMA_ASSIGN_OR_RETURN(value_, graph_.add(op, {value_}, std::move(attributes)));
    return {};
  }

  Graph& graph_;
  const Mesh& mesh_;
  Placement current_;
  ValueId value_;
};

class Partition {
 public:
  Partition(const Graph& single, const PlanChoice& choice) : single_(single), choice_(choice) {
    program_.mesh = choice.mesh;
    values_.assign(single.value_count(), ValueId::none());
    placements_.resize(single.value_count());
  }

  Result<Program> operator()() && {
    for (const NodeId id : single_.live_nodes()) {
      const Node& node = single_.node(id);
      if (node.kind == NodeKind::opaque)
        return unsupported(
            fmt::format("{} is not understood, and cannot be split", single_.opaque(node).name));
      if (node.kind == NodeKind::operation) {
        LEMMA_RETURN_IF_ERROR(add_operation(id, node));
      } else {
        LEMMA_RETURN_IF_ERROR(add_source(node));
      }
    }
    for (const GraphOutput& output : single_.outputs()) {
      const auto told = choice_.outputs.find(output.name);
      Placement placement = told == choice_.outputs.end() ? replicated(choice_.mesh) : told->second;
      LEMMA_ASSIGN_OR_RETURN(const ValueId value, read(output.value, placement));
      LEMMA_RETURN_IF_ERROR(program_.graph.add_output(output.name, value));
      program_.outputs.push_back({output.name, std::move(placement)});
    }
    return std::move(program_);
  }

 private:
  Result<void> add_source(const Node& node) {
    const ValueId value = node.output();
    const auto told = choice_.sources.find(value);
    Placement placement = told == choice_.sources.end() ? replicated(choice_.mesh) : told->second;
    const TensorType& type = single_.type(value);
    if (!type.is_known()) return unsupported("an input has no known type");
    LEMMA_ASSIGN_OR_RETURN(const Shape local, local_shape(*type.shape, placement, choice_.mesh));
    Shape shape;
    for (const MeshAxis& axis : choice_.mesh.axes) shape.emplace_back(axis.size);
    shape.insert(shape.end(), local.begin(), local.end());
    const std::string name =
        node.kind == NodeKind::input
            ? single_.input_name(node)
            : fmt::format("weight {} {}", program_.inputs.size(), single_.suggested_name(value));
    LEMMA_ASSIGN_OR_RETURN(values_[value.v],
                           program_.graph.add_input(name, {type.data_type, std::move(shape)}));
    program_.inputs.push_back({values_[value.v], value, placement});
    placements_[value.v] = std::move(placement);
    return {};
  }

  Result<ValueId> read(ValueId value, const Placement& wanted) {
    return moved(program_.graph, values_[value.v], placements_[value.v], wanted, choice_.mesh);
  }

  Result<void> add_operation(NodeId id, const Node& node) {
    const auto told = choice_.nodes.find(id);
    NodePlacements placements;
    if (told != choice_.nodes.end()) {
      placements = told->second;
    } else {
      placements.reads.assign(node.inputs.size(), replicated(choice_.mesh));
      placements.gives.assign(node.output_count, replicated(choice_.mesh));
    }
    std::vector<ValueId> operands;
    bool has_operand = false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      ValueId operand = ValueId::none();
      if (!node.inputs[i].is_none()) {
        LEMMA_ASSIGN_OR_RETURN(operand, read(node.inputs[i], placements.reads[i]));
        has_operand = true;
      }
      operands.push_back(operand);
    }
    if (!has_operand) return add_generated(node);
    LEMMA_ASSIGN_OR_RETURN(Attributes attributes,
                           local_attributes(single_, node, placements.gives[0], choice_.mesh));
    const auto copies = program_.graph.add_operation(
        operator_named(made_operators::per_device_name(single_.op(node).name)), std::move(operands),
        made_operators::per_device_attributes(std::move(attributes), choice_.mesh.rank()),
        node.output_count);
    if (!copies)
      return bad_input(fmt::format("{} '{}': {}", single_.op(node).name,
                                   single_.suggested_name(node.output()), copies.error().message));
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      enter(node.output(i), program_.graph.node(*copies).output(i), placements.gives[i]);
    return {};
  }

  /// What has no operands is made on one device, as each of them can.
  Result<void> add_generated(const Node& node) {
    LEMMA_ASSIGN_OR_RETURN(const NodeId made, program_.graph.add_operation(
                                                  node.op, {}, node.attributes, node.output_count));
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      LEMMA_ASSIGN_OR_RETURN(const ValueId value,
                             place(program_.graph, program_.graph.node(made).output(i),
                                   replicated(choice_.mesh), choice_.mesh));
      enter(node.output(i), value, replicated(choice_.mesh));
    }
    return {};
  }

  void enter(ValueId single, ValueId value, const Placement& placement) {
    values_[single.v] = value;
    placements_[single.v] = placement;
    program_.graph.suggest_name(value, single_.suggested_name(single));
  }

  const Graph& single_;
  const PlanChoice& choice_;
  Program program_;
  std::vector<ValueId> values_;        // by value of the single-device graph
  std::vector<Placement> placements_;  // the same
};

}  // namespace

Result<ValueId> moved(Graph& graph, ValueId value, const Placement& from, const Placement& to,
                      const Mesh& mesh) {
  return Move(graph, mesh, from)(value, to);
}

Result<Program> partitioned(const Graph& single, const PlanChoice& choice) {
  return Partition(single, choice)();
}

}  // namespace lemma::plans
