// Programs that all devices run.

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plans/on_ranks/rank_program.h"
#include "plans/timetables/rank_tasks.h"
#include "plans/timetables/task_graphs.h"

namespace lemma::plans {
namespace {

/// All devices have the same stages, in groups of their own.
class ProgramTasks {
 public:
  ProgramTasks(const Program& program, const clusters::Mesh& mesh, bool overlaps,
               NodePrices& prices, traces::Traces* recorded)
      : program_(program),
        mesh_(mesh),
        prices_(prices),
        ranks_(static_cast<std::size_t>(program.mesh.device_count())),
        tasks_(ranks_, overlaps, recorded) {}

  Result<simulator::TaskGraph> operator()() && {
    std::vector<RankProgram> own;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      LEMMA_ASSIGN_OR_RETURN(own.emplace_back(), rank_program(program_, rank));
      for (const ValueId output : own.back().outputs) tasks_.keep(rank, output);
      for (const ValueId input : own.back().inputs)
        tasks_.add_source(rank, input, bytes_on_device(input));
    }
    for (std::size_t stage = 0; stage < own.front().stages.size(); ++stage) {
      for (std::size_t rank = 0; rank < ranks_; ++rank)
        LEMMA_RETURN_IF_ERROR(add_computing(rank, own[rank].stages[stage]));
      for (std::size_t i = 0; i < own.front().stages[stage].exchanges.size(); ++i)
        LEMMA_RETURN_IF_ERROR(add_exchange(own, own.front().stages[stage].exchanges[i]));
    }
    return std::move(tasks_).task_graph();
  }

 private:
  double bytes_on_device(ValueId value) const {
    return bytes_of_tensor(program_.graph.type(value)) / static_cast<double>(ranks_);
  }

  /// The values of a stage that are none of the program's have numbers behind these.
  ValueId name_of(const std::map<ValueId, ValueId>& outside, ValueId value) const {
    if (value.is_none()) return value;
    const auto known = outside.find(value);
    return known != outside.end()
               ? known->second
               : ValueId{static_cast<std::uint32_t>(program_.graph.value_count()) + inside_ +
                         value.v};
  }

  Result<void> add_computing(std::size_t rank, const Stage& stage) {
    std::map<ValueId, ValueId> outside;  // of the stage's graph, of the program's
    for (std::size_t i = 0; i < stage.inputs.size(); ++i)
      outside[stage.graph.node(stage.graph.inputs()[i]).output()] = stage.inputs[i];
    for (std::size_t i = 0; i < stage.outputs.size(); ++i)
      outside[stage.graph.outputs()[i].value] = stage.outputs[i];
    for (const NodeId id : stage.graph.live_nodes()) {
      const Node& node = stage.graph.node(id);
      if (node.kind == NodeKind::opaque)
        return unsupported("an operator that is not understood cannot be simulated");
      if (node.kind == NodeKind::constant)
        tasks_.add_source(rank, name_of(outside, node.output()),
                          bytes_of_tensor(stage.graph.type(node.output())));
      if (node.kind != NodeKind::operation) continue;
      std::vector<ValueId> reads;
      for (const ValueId operand : node.inputs) reads.push_back(name_of(outside, operand));
      const double seconds = prices_(node, node.attributes, stage.graph.input_types(node));
      LEMMA_RETURN_IF_ERROR(
          tasks_.add_computing(rank, std::string(stage.graph.op(node).name), seconds, reads));
      for (std::uint32_t i = 0; i < node.output_count; ++i)
        tasks_.gives(rank, name_of(outside, node.output(i)),
                     bytes_of_tensor(stage.graph.type(node.output(i))));
    }
    if (rank + 1 == ranks_) inside_ += static_cast<std::uint32_t>(stage.graph.value_count());
    return {};
  }

  Result<void> add_exchange(const std::vector<RankProgram>& own, const Exchange& exchange) {
    const auto axis = static_cast<std::size_t>(exchange.attributes.integer("device_axis"));
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      const Group& group = own[rank].groups[axis];
      if (group.front() != rank) continue;
      LEMMA_ASSIGN_OR_RETURN(const auto demand,
                             demand_of(exchange.op, exchange.operand_type, group.size()));
      LEMMA_ASSIGN_OR_RETURN(
          const double seconds,
          exchange_seconds(exchange.op, exchange.operand_type, mesh_.axes[axis]));
      LEMMA_RETURN_IF_ERROR(tasks_.add_exchange(
          group, exchange.op, seconds, std::vector<ValueId>(group.size(), exchange.operand),
          demand ? std::optional(demand->bytes) : std::nullopt));
      for (const std::size_t member : group)
        tasks_.gives(member, exchange.result, bytes_on_device(exchange.result));
    }
    return {};
  }

  const Program& program_;
  const clusters::Mesh& mesh_;
  NodePrices& prices_;
  std::size_t ranks_;
  RankTasks tasks_;
  std::uint32_t inside_ = 0;  // values of the stages before
};

}  // namespace

Result<simulator::TaskGraph> task_graph(const Program& program, const clusters::Mesh& mesh,
                                        bool overlaps, NodePrices& prices,
                                        traces::Traces* recorded) {
  return ProgramTasks(program, mesh, overlaps, prices, recorded)();
}

Result<clusters::Mesh> matching_mesh(const Mesh& mesh, const clusters::Cluster& cluster) {
  std::vector<std::string> others;
  for (const clusters::Mesh& candidate : cluster.meshes) {
    bool fits = candidate.axes.size() == mesh.rank();
    for (std::size_t i = 0; fits && i < mesh.rank(); ++i)
      fits = candidate.axes[i].size == static_cast<std::size_t>(mesh.axes[i].size);
    if (fits) return candidate;
    others.push_back(fmt::format("'{}'", candidate.name));
  }
  std::vector<std::string> sizes;
  for (const MeshAxis& axis : mesh.axes) sizes.push_back(fmt::format("{}", axis.size));
  return bad_input(fmt::format("the plan is for {} devices, and the cluster '{}' has the meshes {}",
                               fmt::join(sizes, " x "), cluster.name, fmt::join(others, ", ")));
}

}  // namespace lemma::plans
