#include "plans/on_ranks/rank_program.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "made_operators/per_device.h"
#include "plans/on_ranks/applied.h"

namespace lemma::plans {

namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

std::string name_of(ValueId value) { return fmt::format("v{}", value.v); }

TensorType local_type(const Program& program, ValueId value) {
  TensorType type = program.graph.type(value);
  type.shape->erase(type.shape->begin(),
                    type.shape->begin() + static_cast<long>(program.mesh.rank()));
  return type;
}

/// Where a rank stands in the mesh.
std::vector<std::size_t> coordinates_of(const Mesh& mesh, std::size_t rank) {
  std::vector<std::size_t> result(mesh.rank());
  for (std::size_t axis = mesh.rank(); axis-- > 0;) {
    const auto size = static_cast<std::size_t>(mesh.axes[axis].size);
    result[axis] = rank % size;
    rank /= size;
  }
  return result;
}

/// The ranks that differ from one in a coordinate only.
Group group_of(const Mesh& mesh, std::size_t rank, std::size_t axis) {
  std::size_t stride = 1;
  for (std::size_t i = axis + 1; i < mesh.rank(); ++i)
    stride *= static_cast<std::size_t>(mesh.axes[i].size);
  const std::size_t first = rank - coordinates_of(mesh, rank)[axis] * stride;
  Group group;
  for (std::int64_t i = 0; i < mesh.axes[axis].size; ++i)
    group.push_back(first + static_cast<std::size_t>(i) * stride);
  return group;
}

class Builder {
 public:
  Builder(const Program& program, std::size_t rank) : program_(program), rank_(rank) {
    const Graph& graph = program.graph;
    level_.assign(graph.value_count(), 0);
    for (std::size_t axis = 0; axis < program.mesh.rank(); ++axis)
      result_.groups.push_back(group_of(program.mesh, rank, axis));
  }

  Result<RankProgram> operator()() && {
    const Graph& graph = program_.graph;
    find_levels();
    for (const ProgramInput& input : program_.inputs) result_.inputs.push_back(input.value);
    for (const GraphOutput& output : graph.outputs()) result_.outputs.push_back(output.value);
    find_readers();
    for (const NodeId id : graph.live_nodes()) LEMMA_RETURN_IF_ERROR(add(id));
    for (std::size_t level = 0; level < result_.stages.size(); ++level)
      LEMMA_RETURN_IF_ERROR(finish(level));
    return std::move(result_);
  }

 private:
  enum class Kind { source, local, collective, spread };

  Kind kind_of(const Node& node) const {
    if (node.kind == NodeKind::input) return Kind::source;
    if (node.kind == NodeKind::constant) return Kind::spread;
    const OperatorRecord& op = program_.graph.op(node);
    if (made_operators::is_per_device(op)) return Kind::local;
    // What is on one device, or is put on all of them, is made where it is needed.
    if (op.name == "Replicate" || is_plain(node)) return Kind::spread;
    return Kind::collective;
  }

  /// An operator without operands, which each rank computes by itself.
  static bool is_plain(const Node& node) { return node.inputs.empty(); }

  /// How many exchanges are before a value.
  void find_levels() {
    const Graph& graph = program_.graph;
    for (const NodeId id : graph.live_nodes()) {
      const Node& node = graph.node(id);
      std::size_t level = 0;
      for (const ValueId operand : node.inputs)
        if (!operand.is_none()) level = std::max(level, level_[operand.v]);
      if (kind_of(node) == Kind::collective) ++level;
      for (std::uint32_t i = 0; i < node.output_count; ++i) level_[node.output(i).v] = level;
      stages_ = std::max(stages_, level + 1);
    }
    result_.stages.resize(stages_);
    local_.resize(stages_);
  }

  /// What is read behind the stage that computes it: by later ones, by exchanges, and as a result.
  void find_readers() {
    const Graph& graph = program_.graph;
    for (const NodeId id : graph.live_nodes()) {
      const Node& node = graph.node(id);
      const Kind kind = kind_of(node);
      if (kind != Kind::local && kind != Kind::collective) continue;
      const std::size_t level = level_[node.output().v];
      for (const ValueId operand : node.inputs) {
        if (operand.is_none()) continue;
        if (kind == Kind::collective || level_[operand.v] < level) kept_.insert(operand);
      }
    }
    for (const ValueId output : result_.outputs) kept_.insert(output);
  }

  Result<void> add(NodeId id) {
    const Node& node = program_.graph.node(id);
    switch (kind_of(node)) {
      case Kind::collective:
        result_.stages[level_[node.output().v] - 1].exchanges.push_back(
            {std::string(program_.graph.op(node).name), node.attributes, node.inputs[0],
             node.output(), local_type(program_, node.inputs[0])});
        return {};
      case Kind::local: return add_local(node);
      case Kind::source:
      case Kind::spread: break;
    }
    return {};
  }

  Result<void> add_local(const Node& node) {
    const std::size_t level = level_[node.output().v];
    std::vector<ValueId> operands;
    for (const ValueId operand : node.inputs) {
      operands.push_back(ValueId::none());
      if (operand.is_none()) continue;
      LEMMA_ASSIGN_OR_RETURN(operands.back(), local(level, operand));
    }
    const OperatorRecord& op = program_.graph.op(node);
    Attributes attributes = made_operators::local_attributes_of(node.attributes);
    Graph& graph = result_.stages[level].graph;
    LEMMA_ASSIGN_OR_RETURN(
        const NodeId copy,
        graph.add_operation(made_operators::local_operator(op), std::move(operands),
                            std::move(attributes), node.output_count));
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      local_[level].emplace(node.output(i), graph.node(copy).output(i));
    return {};
  }

  /// A value of the program in the graph of a stage.
  Result<ValueId> local(std::size_t level, ValueId value) {
    if (const auto known = local_[level].find(value); known != local_[level].end())
      return known->second;
    const Node& node = program_.graph.node(program_.graph.producer(value));
    Stage& stage = result_.stages[level];
    ValueId here = ValueId::none();
    if (kind_of(node) == Kind::spread) {
      LEMMA_ASSIGN_OR_RETURN(here, spread(stage.graph, value));
    } else {
      LEMMA_ASSIGN_OR_RETURN(here,
                             stage.graph.add_input(name_of(value), local_type(program_, value)));
      stage.inputs.push_back(value);
    }
    local_[level].emplace(value, here);
    return here;
  }

  /// Constants and what is made of nothing, as this rank has it. A constant that is read as it is has axes of devices.
  Result<ValueId> spread(Graph& graph, ValueId value) {
    const Node& node = program_.graph.node(program_.graph.producer(value));
    if (node.kind == NodeKind::constant)
      return graph.add_constant(own(program_.graph.constant(node)));
    return whole(graph, value);
  }

  /// What is put on all devices.
  Result<ValueId> whole(Graph& graph, ValueId value) {
    const Node& node = program_.graph.node(program_.graph.producer(value));
    if (node.kind == NodeKind::constant) return graph.add_constant(program_.graph.constant(node));
    if (!is_plain(node)) return whole(graph, node.inputs[0]);
    LEMMA_ASSIGN_OR_RETURN(const NodeId made,
                           graph.add_operation(node.op, {}, node.attributes, node.output_count));
    return graph.node(made).output(program_.graph.output_index(value));
  }

  /// The part of a constant of all ranks.
  Constant own(const Constant& constant) const {
    const auto count = static_cast<std::size_t>(program_.mesh.device_count());
    const std::size_t size = constant.bytes().size() / count;
    TensorType type = constant.type();
    type.shape->erase(type.shape->begin(),
                      type.shape->begin() + static_cast<long>(program_.mesh.rank()));
    return *Constant::create(std::move(type), constant.owner(),
                             constant.bytes().subspan(rank_ * size, size));
  }

  Result<void> finish(std::size_t level) {
    Stage& stage = result_.stages[level];
    for (const ValueId value : kept_) {
      const Node& node = program_.graph.node(program_.graph.producer(value));
      const bool is_spread = kind_of(node) == Kind::spread;
      if (is_spread ? level != 0 : (kind_of(node) != Kind::local || level_[value.v] != level))
        continue;
      LEMMA_ASSIGN_OR_RETURN(const ValueId here, local(level, value));
      LEMMA_RETURN_IF_ERROR(stage.graph.add_output(name_of(value), here));
      stage.outputs.push_back(value);
    }
    return {};
  }

  const Program& program_;
  std::size_t rank_;
  RankProgram result_;
  std::vector<std::size_t> level_;  // by value
  std::size_t stages_ = 1;
  std::vector<std::map<ValueId, ValueId>> local_;  // by stage: values of the program in its graph
  std::set<ValueId> kept_;                         // needed behind the stage that computes them
};

}  // namespace

Result<RankProgram> rank_program(const Program& program, std::size_t rank) {
  return Builder(program, rank)();
}

StageEngine interpreter_engine(int threads) {
  return [threads](std::size_t, const Graph& graph, std::span<const NamedTensor> inputs) {
    interpreter::RunOptions options;
    options.threads = threads;
    return interpreter::run(graph, inputs, options);
  };
}

Result<std::vector<Tensor>> run_rank(const RankProgram& program, std::vector<Tensor> inputs,
                                     const StageEngine& engine, Communicator& communicator,
                                     const ExchangeSchedules* schedules) {
  std::map<ValueId, Tensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.emplace(program.inputs[i], std::move(inputs[i]));
  LEMMA_RETURN_IF_ERROR(communicator.begin_step());
  for (std::size_t i = 0; i < program.stages.size(); ++i) {
    const Stage& stage = program.stages[i];
    std::vector<NamedTensor> given;
    for (const ValueId input : stage.inputs) given.push_back({name_of(input), values.at(input)});
    if (!stage.outputs.empty()) {
      communicator.enter(fmt::format("stage {}", i + 1));
      LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> results, engine(i, stage.graph, given));
      for (std::size_t k = 0; k < results.size(); ++k)
        values.insert_or_assign(stage.outputs[k], std::move(results[k]));
    }
    for (const Exchange& exchange : stage.exchanges) {
      const auto axis = static_cast<std::size_t>(exchange.attributes.integer("device_axis"));
      communicator.enter(
          fmt::format("{} of '{}' behind stage {}", exchange.op, name_of(exchange.operand), i + 1));
      LEMMA_ASSIGN_OR_RETURN(
          Tensor result,
          exchange_on_group(exchange, program.groups[axis], program.groups.size() - 1, communicator,
                            values.at(exchange.operand), schedules));
      values.insert_or_assign(exchange.result, std::move(result));
    }
  }
  std::vector<Tensor> outputs;
  for (const ValueId output : program.outputs) outputs.push_back(values.at(output));
  return outputs;
}

Result<Tensor> part_of(const Tensor& whole, const Placement& placement, const Mesh& mesh,
                       std::size_t rank) {
  const std::vector<std::size_t> place = coordinates_of(mesh, rank);
  Tensor result = whole;
  for (std::size_t i = 0; i < mesh.rank(); ++i) {
    if (placement[i].sharing != Sharing::parted) continue;
    const std::size_t axis = placement[i].axis;
    const std::int64_t size = result.sizes()[axis] / mesh.axes[i].size;
    const auto at = static_cast<std::int64_t>(place[i]) * size;
    LEMMA_ASSIGN_OR_RETURN(result, applied("Slice", result,
                                           {{"starts", Shape{Dimension(at)}},
                                            {"ends", Shape{Dimension(at + size)}},
                                            {"axes", Integers{static_cast<std::int64_t>(axis)}}}));
  }
  return result;
}

Result<Tensor> whole_of(const std::vector<Tensor>& parts, const Placement& placement,
                        const Mesh& mesh) {
  interpreter::Sizes sizes;
  for (const MeshAxis& axis : mesh.axes) sizes.push_back(axis.size);
  sizes.insert(sizes.end(), parts[0].sizes().begin(), parts[0].sizes().end());
  Tensor all = Tensor::uninitialized(parts[0].data_type(), std::move(sizes));
  const std::span<std::byte> bytes = all.writable_bytes();
  std::size_t at = 0;
  for (const Tensor& part : parts) {
    std::copy(part.bytes().begin(), part.bytes().end(), bytes.begin() + static_cast<long>(at));
    at += part.bytes().size();
  }
  Graph graph;
  LEMMA_ASSIGN_OR_RETURN(const ValueId x, graph.add_input("x", all.type()));
  LEMMA_ASSIGN_OR_RETURN(const ValueId y, collect(graph, x, placement, mesh));
  LEMMA_RETURN_IF_ERROR(graph.add_output("y", y));
  const std::vector<NamedTensor> inputs = {{"x", all}};
  LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> results, interpreter::run(graph, inputs));
  return std::move(results[0]);
}

}  // namespace lemma::plans
