#include "backend_cuda/lower/tile.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend_cuda/lower/stitched_operator.h"
#include "lowering/merge_axes.h"

namespace lemma::backend {

namespace {

using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

constexpr std::int64_t most_tasks = 256;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Cut along the first axes, so that parts lie together in memory.
Kernel kernel_for(const LoweredOutput& nest, std::int64_t tasks, std::int64_t line) {
  Kernel kernel;
  for (const lowering::LoopVariable axis : nest.axes) {
    const std::int64_t extent = nest.graph.extent(axis);
    const bool is_last = kernel.extents.size() + 1 == nest.axes.size();
    std::int64_t part = divide_up(extent, std::min(tasks, extent));
    if (is_last) part = std::min(divide_up(part, line) * line, extent);
    kernel.extents.push_back(extent);
    kernel.parts.push_back(part);
    tasks = divide_up(tasks, divide_up(extent, part));
  }
  return kernel;
}

double bytes_of(const TaskAccess& access, const std::vector<Buffer>& buffers) {
  const auto bytes = [&buffers](const Region& region) {
    double elements = 1;
    for (const Region::Axis& axis : region.axes) elements *= static_cast<double>(axis.extent);
    return elements * static_cast<double>(byte_size(buffers[region.buffer].type));
  };
  double sum = 0;
  for (const Region& region : access.writes) sum += bytes(region);
  for (const Region& region : access.reads) sum += bytes(region);
  return sum;
}

std::int64_t line_of(DataType type) {
  return static_cast<std::int64_t>(std::max<std::uint64_t>(1, buffer_alignment / byte_size(type)));
}

double seconds_of(const TaskOperator& op, const Kernel& kernel, double operations,
                  const std::vector<Buffer>& buffers, const VirtualDevice& device) {
  const double compute =
      operations / static_cast<double>(kernel.task_count()) * device.seconds_per_operation;
  const double move = bytes_of(access_of(op, kernel, 0), buffers) * device.seconds_per_byte;
  return std::max(compute, move);
}

void add_kernels(TaskOperator& op, const std::vector<Buffer>& buffers, const VirtualDevice& device,
                 const std::vector<std::int64_t>& grid) {
  double operations = 0;
  for (const Phase& phase : op.body.phases) operations += operation_count(phase.nest);
  const LoweredOutput& last = op.body.phases.back().nest;
  std::int64_t points = 1;
  for (const std::int64_t extent : grid) points *= extent;
  for (std::int64_t wanted = 1; wanted <= most_tasks || op.kernels.empty(); wanted *= 2) {
    Kernel kernel = op.is_stitched() ? stitched_kernel(grid, wanted)
                                     : kernel_for(last, wanted, line_of(last.type));
    const std::int64_t count = kernel.task_count();
    const bool is_finest = !op.is_stitched() || count == points;
    if (!is_finest && shared_bytes(op, kernel) > device.shared_bytes_per_unit) continue;
    if (!op.kernels.empty() && count == op.kernels.back().task_count()) continue;
    const double seconds = seconds_of(op, kernel, operations, buffers, device);
    if (!op.kernels.empty() && seconds < device.least_task_seconds) break;
    kernel.seconds_per_task = device.seconds_per_task + seconds;
    op.kernels.push_back(std::move(kernel));
  }
}

/// The arguments are the buffers that the nest reads, each once, and the result.
Result<TaskOperator> operator_of(Computation computation) {
  TaskOperator op;
  auto nest = lowering::lower_to_long_loops(computation.definition,
                                            computation.definition.outputs()[computation.output],
                                            computation.views, lowering::Domain::native);
  if (!nest)
    return with_context(fmt::format("{} '{}'", computation.description, computation.name),
                        std::move(nest.error()));
  op.name = std::move(computation.name);
  op.description = std::move(computation.description);
  std::vector<std::uint32_t> operands(computation.operands.size(), no_argument);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const BufferNumber buffer = computation.operands[i];
    if (buffer == no_buffer) continue;
    const auto found = std::find(op.arguments.begin(), op.arguments.end(), buffer);
    operands[i] = static_cast<std::uint32_t>(found - op.arguments.begin());
    if (found == op.arguments.end()) op.arguments.push_back(buffer);
  }
  const auto result = static_cast<std::uint32_t>(op.arguments.size());
  op.arguments.push_back(computation.result);
  op.body.phases.push_back({std::move(*nest), std::move(operands), result});
  return op;
}

}  // namespace

double operation_count(const LoweredOutput& nest) {
  lowering::VariableSet axes = 0;
  double elements = 1;
  for (const lowering::LoopVariable axis : nest.axes) {
    axes |= lowering::set_of(axis);
    elements *= static_cast<double>(nest.graph.extent(axis));
  }
  std::vector<bool> is_used(nest.graph.size(), false);
  is_used[nest.root] = true;
  double sum = 0;
  for (TermNumber id = nest.root + 1; id-- > 0;) {
    if (!is_used[id]) continue;
    const Term& term = nest.graph.term(id);
    lowering::VariableSet variables = term.depends;
    for (const TermNumber operand : term.operands) is_used[operand] = true;
    if (is_reduction(term.kind)) variables |= nest.graph.term(term.operands[0]).depends;
    double times = 1;
    for (lowering::LoopVariable v = 0; v < nest.graph.variable_count(); ++v)
      if ((variables & ~axes & lowering::set_of(v)) != 0)
        times *= static_cast<double>(nest.graph.extent(v));
    // A function such as exp takes about as long as twenty additions.
    sum += times * (term.kind == ExpressionKind::function ? 20 : 1);
  }
  return sum * elements;
}

Result<OperatorGraph> tile(ComputationGraph graph, const VirtualDevice& device) {
  const std::vector<Group> groups = groups_of(graph);
  const std::vector<bool> is_stored = stored_buffers(graph, groups);
  OperatorGraph result;
  for (const Group& group : groups) {
    std::vector<std::int64_t> grid;
    auto op = group.members.size() == 1
                  ? operator_of(std::move(graph.computations[group.members[0]]))
                  : stitched_operator(graph, group, is_stored, grid);
    if (!op) return tl::unexpected(std::move(op.error()));
    add_kernels(*op, graph.buffers, device, grid);
    result.operators.push_back(std::move(*op));
  }
  remove_unstored(graph, is_stored, result.operators);
  result.buffers = std::move(graph.buffers);
  result.inputs = std::move(graph.inputs);
  result.outputs = std::move(graph.outputs);
  return result;
}

}  // namespace lemma::backend
