// Programs in which each rank has operators of its own.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plans/timetables/rank_tasks.h"
#include "plans/timetables/task_graphs.h"

namespace lemma::plans {
namespace {

class RankedTasks {
 public:
  RankedTasks(const RankedProgram& program, const Paths& paths, NodePrices& prices,
              traces::Traces* recorded)
      : program_(program),
        graph_(program.program.graph),
        paths_(paths),
        prices_(prices),
        tasks_(program.rank_count(), paths.overlaps(), recorded),
        arrived_(program.exchanges.size(), 0) {}

  Result<simulator::TaskGraph> operator()() && {
    for (std::size_t rank = 0; rank < program_.rank_count(); ++rank)
      for (const RankSource& source : program_.sources[rank])
        tasks_.add_source(rank, source.value, bytes_of(source.value));
    for (const RankOutput& output : program_.outputs) tasks_.keep(output.rank, output.value);
    LEMMA_ASSIGN_OR_RETURN(const std::vector<RankStep> order, step_order(program_));
    for (const RankStep& step : order) LEMMA_RETURN_IF_ERROR(add(step));
    return std::move(tasks_).task_graph();
  }

 private:
  double bytes_of(ValueId value) const { return bytes_of_tensor(graph_.type(value)); }

  Result<void> add(const RankStep& place) {
    switch (place.step.kind) {
      case StepKind::compute: return add_computing(place.rank, graph_.node(place.step.node));
      case StepKind::send: return add_message(program_.transfers[place.step.number]);
      case StepKind::receive: return {};
      case StepKind::exchange: return add_exchange(place.step.number);
    }
    return {};
  }

  Result<void> add_computing(std::size_t rank, const Node& node) {
    const double seconds = prices_(node, node.attributes, graph_.input_types(node));
    LEMMA_RETURN_IF_ERROR(
        tasks_.add_computing(rank, std::string(graph_.op(node).name), seconds,
                             std::vector<ValueId>(node.inputs.begin(), node.inputs.end())));
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      tasks_.gives(rank, node.output(i), bytes_of(node.output(i)));
    return {};
  }

  Result<void> add_message(const Transfer& transfer) {
    const double bytes = bytes_of(transfer.value);
    const double latency = paths_.latency(transfer.from, transfer.to);
    LEMMA_RETURN_IF_ERROR(tasks_.add_message(
        transfer.from, transfer.to, transfer.value, transfer.channel,
        {bytes, std::max(0.0, paths_.seconds(transfer.from, transfer.to, bytes) - latency),
         latency}));
    tasks_.gives(transfer.to, transfer.value, bytes_of(transfer.value));
    return {};
  }

  /// A step of each rank of the group; the last one of these makes the task.
  Result<void> add_exchange(std::size_t number) {
    const GroupExchange& exchange = program_.exchanges[number];
    if (++arrived_[number] < exchange.ranks.size()) return {};
    const TensorType& type = graph_.type(exchange.operands.front());
    LEMMA_ASSIGN_OR_RETURN(const auto demand, demand_of(exchange.op, type, exchange.ranks.size()));
    LEMMA_ASSIGN_OR_RETURN(const clusters::BestAlgorithm best,
                           best_exchange(exchange.op, type, exchange.ranks.size(),
                                         wire_between(exchange.ranks, paths_)));
    LEMMA_RETURN_IF_ERROR(
        tasks_.add_exchange(exchange.ranks, exchange.op, best.seconds, exchange.operands,
                            demand ? std::optional(demand->bytes) : std::nullopt));
    for (std::size_t i = 0; i < exchange.ranks.size(); ++i)
      tasks_.gives(exchange.ranks[i], exchange.results[i], bytes_of(exchange.results[i]));
    return {};
  }

  const RankedProgram& program_;
  const Graph& graph_;
  const Paths& paths_;
  NodePrices& prices_;
  RankTasks tasks_;
  std::vector<std::size_t> arrived_;  // by exchange
};

}  // namespace

Result<simulator::TaskGraph> task_graph(const RankedProgram& program, const Paths& paths,
                                        NodePrices& prices, traces::Traces* recorded) {
  return RankedTasks(program, paths, prices, recorded)();
}

}  // namespace lemma::plans
