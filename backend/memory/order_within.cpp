#include "backend/memory/order_within.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backend/memory/plan_memory.h"
#include "memory_plan/order.h"
#include "memory_plan/plan_within.h"
#include "memory_plan/replay.h"

namespace lemma::backend {

namespace {

using memory_plan::NodeNumber;

/// The kernel of an operator that has all units to itself, and what it takes.
std::pair<std::uint32_t, double> fastest_kernel(const TaskOperator& op, std::uint32_t units) {
  std::uint32_t best = 0;
  double least = 0;
  for (std::uint32_t number = 0; number < op.kernels.size(); ++number) {
    const Kernel& kernel = op.kernels[number];
    const auto rounds = static_cast<double>((kernel.task_count() + units - 1) / units);
    const double seconds = rounds * kernel.seconds_per_task;
    if (number != 0 && seconds >= least) continue;
    best = number;
    least = seconds;
  }
  return {best, least};
}

/// Operators as nodes; their values are what they write into the arena.
memory_plan::Problem problem_of(const OperatorGraph& graph, const VirtualDevice& device) {
  memory_plan::Problem problem;
  std::vector<std::optional<NodeNumber>> writers(graph.buffers.size());
  for (NodeNumber number = 0; number < graph.operators.size(); ++number) {
    const TaskOperator& op = graph.operators[number];
    memory_plan::Node node;
    node.seconds = fastest_kernel(op, device.units).second;
    for (const BufferNumber operand : op.operands())
      if (writers[operand]) node.operands.push_back(*writers[operand]);
    std::sort(node.operands.begin(), node.operands.end());
    node.operands.erase(std::unique(node.operands.begin(), node.operands.end()),
                        node.operands.end());
    for (const BufferNumber result : op.results()) {
      writers[result] = number;
      const Buffer& buffer = graph.buffers[result];
      if (buffer.memory == Memory::arena) node.bytes += aligned_bytes(buffer);
      if (buffer.memory == Memory::output) node.is_kept = true;
    }
    problem.nodes.push_back(std::move(node));
  }
  return problem;
}

/// Writes the operators of a sequence. What runs again has copies of its buffers, which those that come after it read.
class SequenceWriter {
 public:
  SequenceWriter(const OperatorGraph& graph, const VirtualDevice& device)
      : graph_(graph), device_(device), has_run_(graph.operators.size(), false) {
    result_.graph.buffers = graph.buffers;
    result_.graph.inputs = graph.inputs;
    result_.graph.outputs = graph.outputs;
    for (BufferNumber i = 0; i < graph.buffers.size(); ++i) current_.push_back(i);
  }

  OrderedOperators run(const memory_plan::Sequence& sequence) {
    for (const NodeNumber number : sequence) add(number);
    return std::move(result_);
  }

 private:
  void add(NodeNumber number) {
    TaskOperator op = graph_.operators[number];
    for (BufferNumber& operand :
         std::span(op.arguments).first(op.arguments.size() - op.result_count))
      operand = current_[operand];
    if (has_run_[number]) {
      result_.memory.repeated.push_back(op.name);
      for (BufferNumber& result : std::span(op.arguments).last(op.result_count))
        result = copy_of(result);
      op.name = graph_.buffers[graph_.operators[number].results().back()].name +
                fmt::format(" (again, {})", result_.memory.repeated.size());
    }
    has_run_[number] = true;
    place(op);
    result_.graph.operators.push_back(std::move(op));
  }

  BufferNumber copy_of(BufferNumber original) {
    Buffer buffer = graph_.buffers[original];
    // An output has been written already, and stays.
    buffer.memory = Memory::arena;
    const auto copy = static_cast<BufferNumber>(result_.graph.buffers.size());
    if (graph_.buffers[original].memory == Memory::arena) current_[original] = copy;
    result_.graph.buffers.push_back(std::move(buffer));
    return copy;
  }

  /// Each unit runs neighbouring tasks.
  void place(const TaskOperator& op) {
    const auto number = static_cast<OperatorNumber>(result_.graph.operators.size());
    const std::uint32_t kernel = fastest_kernel(op, device_.units).first;
    result_.placement.kernels.push_back(kernel);
    const std::int64_t count = op.kernels[kernel].task_count();
    const std::int64_t units = std::min<std::int64_t>(device_.units, count);
    for (std::int64_t task = 0; task < count; ++task)
      result_.placement.tasks.push_back({{number, static_cast<std::uint32_t>(task)},
                                         static_cast<UnitNumber>(task * units / count)});
  }

  const OperatorGraph& graph_;
  const VirtualDevice& device_;
  std::vector<bool> has_run_;
  std::vector<BufferNumber> current_;  // by buffer of the graph: where its value is now
  OrderedOperators result_;
};

OrderedOperators ordered(const OperatorGraph& graph, const VirtualDevice& device,
                         const memory_plan::Problem& problem,
                         const memory_plan::Sequence& sequence) {
  OrderedOperators result = SequenceWriter(graph, device).run(sequence);
  const auto before = memory_plan::replay(
      problem, memory_plan::plan_of(problem, memory_plan::given_order(problem)));
  const auto after = memory_plan::replay(problem, memory_plan::plan_of(problem, sequence));
  result.memory.before = before->during;
  result.memory.after = after->during;
  result.memory.seconds_before = before->seconds;
  result.memory.seconds = after->seconds;
  result.memory.seconds_bound = before->seconds;
  return result;
}

}  // namespace

OrderedOperators order_of_least_memory(const OperatorGraph& graph, const VirtualDevice& device) {
  const memory_plan::Problem problem = problem_of(graph, device);
  OrderedOperators result =
      ordered(graph, device, problem, memory_plan::low_memory_order(problem).order);
  result.memory.method = memory_plan::name(memory_plan::Method::order_alone);
  return result;
}

std::optional<OrderedOperators> order_within(const OperatorGraph& graph,
                                             const VirtualDevice& device, std::uint64_t limit,
                                             Effort effort) {
  const memory_plan::Problem problem = problem_of(graph, device);
  const memory_plan::Outcome outcome = memory_plan::plan_within(
      problem, limit,
      effort == Effort::quick ? memory_plan::quick_look : memory_plan::PlanOptions{});
  if (!outcome.is_found()) return std::nullopt;
  OrderedOperators result = ordered(graph, device, problem, outcome.sequence);
  result.memory.limit = limit;
  result.memory.method = memory_plan::name(outcome.method);
  result.memory.seconds_bound = outcome.seconds_bound;
  result.memory.bounds_order = outcome.bounds_order;
  return result;
}

std::uint64_t least_memory(const OperatorGraph& graph, const VirtualDevice& device) {
  return memory_plan::least_limit(problem_of(graph, device));
}

}  // namespace lemma::backend
