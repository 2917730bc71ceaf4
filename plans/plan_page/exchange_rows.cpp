#include "plans/plan_page/exchange_rows.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "made_operators/per_device.h"
#include "plans/on_ranks/rank_program.h"
#include "plans/on_ranks/traffic.h"
#include "plans/planner/simulation.h"

namespace lemma::plans {

namespace {

constexpr std::size_t most_readers = 3;

std::string value_name(const Graph& graph, ValueId value) {
  const Node& node = graph.node(graph.producer(value));
  if (node.kind == NodeKind::input) return graph.input_name(node);
  const std::string& name = graph.suggested_name(value);
  return name.empty() ? fmt::format("value {}", value.v) : name;
}

/// The first operators that read a value, and the outputs that it is.
std::vector<std::string> readers_of(const Graph& graph, ValueId value) {
  std::vector<std::string> result;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end())
      result.push_back(described_operator(graph, node));
  }
  for (const GraphOutput& output : graph.outputs())
    if (output.value == value) result.push_back(fmt::format("output '{}'", output.name));
  if (result.size() > most_readers) {
    const std::size_t others = result.size() - most_readers;
    result.resize(most_readers);
    result.push_back(fmt::format("{} others", others));
  }
  return result;
}

/// "partial sum", or what is not known of a value that is none of the model.
std::string share_of(const Relations& relations, const Program& program, ValueId value) {
  const auto& relation = relations.of[value.v];
  return relation ? text(relation->placement, program.mesh) : "as no value of the model";
}

/// "MatMul 'y' of 'x' (axis 1 in parts)": with what it reads that is not the same on all devices.
std::string with_operands(const Graph& single, const Program& program, const Relations& relations,
                          const Node& node) {
  std::vector<std::string> parts;
  for (const ValueId operand : node.inputs) {
    if (operand.is_none()) continue;
    const auto& relation = relations.of[operand.v];
    if (relation && !(relation->placement == replicated(program.mesh)))
      parts.push_back(fmt::format("'{}' ({})", value_name(single, relation->single),
                                  text(relation->placement, program.mesh)));
  }
  const std::string op = described_operator(program.graph, node);
  return parts.empty() ? op : fmt::format("{} of {}", op, fmt::join(parts, ", "));
}

/// The operators of a rank that read a value behind a step.
std::string reading_of(const RankedProgram& program, std::size_t rank, ValueId value) {
  std::vector<std::string> readers;
  const Graph& graph = program.program.graph;
  for (const Step& step : program.steps[rank]) {
    if (step.kind != StepKind::compute || readers.size() == most_readers) continue;
    const Node& node = graph.node(step.node);
    if (std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end())
      readers.push_back(described_operator(graph, node));
  }
  for (const RankOutput& output : program.outputs)
    if (output.rank == rank && output.value == value)
      readers.push_back(fmt::format("output '{}'", output.name));
  return readers.empty() ? fmt::format("rank {} hands it on", rank)
                         : fmt::format("rank {} reads it: {}", rank, fmt::join(readers, ", "));
}

}  // namespace

std::string described_operator(const Graph& graph, const Node& node) {
  if (node.kind == NodeKind::input) return fmt::format("input '{}'", graph.input_name(node));
  if (node.kind != NodeKind::operation) return "constant";
  const OperatorRecord& op = graph.op(node);
  const std::string_view name =
      made_operators::is_per_device(op) ? record(made_operators::local_operator(op)).name : op.name;
  return fmt::format("{} '{}'", name, value_name(graph, node.output()));
}

Result<std::vector<ExchangeRow>> exchange_rows(const Graph& single, const Program& program,
                                               const Relations& relations,
                                               const clusters::Mesh& mesh) {
  LEMMA_ASSIGN_OR_RETURN(const RankProgram own, rank_program(program, 0));
  const Graph& graph = program.graph;
  std::vector<ExchangeRow> rows;
  for (const Stage& stage : own.stages)
    for (const Exchange& exchange : stage.exchanges) {
      const auto axis = static_cast<std::size_t>(exchange.attributes.integer("device_axis"));
      const Node& maker = graph.node(graph.producer(exchange.operand));
      ExchangeRow row;
      row.what = program.mesh.rank() == 1
                     ? exchange.op
                     : fmt::format("{} along {}", exchange.op, program.mesh.axes[axis].name);
      const auto& relation = relations.of[exchange.operand.v];
      row.value = value_name(graph, exchange.operand);
      if (relation && row.value.empty()) row.value = fmt::format("value {}", exchange.operand.v);
      row.why = fmt::format("{} gives it {}; read {} by {}",
                            with_operands(single, program, relations, maker),
                            share_of(relations, program, exchange.operand),
                            share_of(relations, program, exchange.result),
                            fmt::join(readers_of(graph, exchange.result), ", "));
      row.bytes = static_cast<double>(collective_traffic(exchange, own.groups[axis], 0).bytes);
      LEMMA_ASSIGN_OR_RETURN(row.seconds,
                             exchange_seconds(exchange.op, exchange.operand_type, mesh.axes[axis]));
      rows.push_back(std::move(row));
    }
  return rows;
}

std::vector<ExchangeRow> exchange_rows(const RankedProgram& program,
                                       const clusters::Cluster& cluster) {
  const Paths paths(cluster);
  const Graph& graph = program.program.graph;
  std::vector<ExchangeRow> rows;
  for (const Transfer& transfer : program.transfers) {
    const double bytes = bytes_of_tensor(graph.type(transfer.value));
    rows.push_back({fmt::format("rank {} to rank {}", transfer.from, transfer.to),
                    value_name(graph, transfer.value),
                    reading_of(program, transfer.to, transfer.value), bytes,
                    paths.seconds(transfer.from, transfer.to, bytes)});
  }
  for (const GroupExchange& exchange : program.exchanges) {
    const TensorType& type = graph.type(exchange.operands.front());
    const Traffic traffic =
        collective_traffic({exchange.op, exchange.attributes, exchange.operands.front(),
                            exchange.results.front(), type},
                           exchange.ranks, exchange.ranks.front());
    rows.push_back({fmt::format("{} of ranks {}", exchange.op, fmt::join(exchange.ranks, ", ")),
                    value_name(graph, exchange.operands.front()),
                    reading_of(program, exchange.ranks.front(), exchange.results.front()),
                    static_cast<double>(traffic.bytes),
                    paths.seconds(exchange.ranks.front(), exchange.ranks.back(),
                                  static_cast<double>(traffic.bytes))});
  }
  return rows;
}

}  // namespace lemma::plans
