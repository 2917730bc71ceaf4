#include "backend/compile/compile.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backend/compile/passes.h"
#include "backend/lower/computation_text.h"
#include "backend/lower/tile.h"
#include "backend/memory/plan_memory.h"
#include "backend/prove/check_program.h"
#include "backend/schedule/choose_residents.h"
#include "backend/schedule/schedule.h"

namespace lemma::backend {

namespace {

ReadBy reader_of(const VirtualDevice& device) {
  return device.multiprocessor ? ReadBy::lanes : ReadBy::vectors;
}

/// The operators by plan of stitching.
Result<std::vector<OperatorGraph>> operators_of(const ComputationGraph& computations,
                                                const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<StitchPlan> plans,
                         stitch_plans(computations, options.device, options.stitching));
  std::vector<OperatorGraph> result;
  for (const StitchPlan& plan : plans) {
    ComputationGraph grouped = computations;
    grouped.groups = plan.groups;
    if (options.observer) options.observer("stitch", text(grouped));
    LEMMA_ASSIGN_OR_RETURN(OperatorGraph operators,
                           tile(std::move(grouped), options.device, options.times));
    // Stitched operators may have no cut that is not refused; the last plan stitches nothing.
    if (std::all_of(operators.operators.begin(), operators.operators.end(),
                    [](const TaskOperator& op) { return !op.kernels.empty(); }))
      result.push_back(std::move(operators));
  }
  return result;
}

struct PlannedProgram {
  TaskProgram program;
  double end = 0;  // seconds
};

/// Units keep weights where the program then ends no later as planned.
void keep_weights(TaskProgram& program) {
  choose_residents(program);
  if (program.residents.is_empty()) return;
  const double end = planned_end(program);
  const ResidentWeights residents = std::exchange(program.residents, {});
  if (end <= planned_end(program)) program.residents = residents;
}

/// Policies, which prefer units that keep what a task reads, and the same without that preference.
std::vector<VirtualDevice> devices_to_try(const OperatorGraph& operators,
                                          const VirtualDevice& device) {
  std::vector<VirtualDevice> devices = {device};
  const std::vector<bool> is_repeated = repeated_weights(operators);
  if (device.multiprocessor && device.multiprocessor->source.keeps_weights &&
      std::find(is_repeated.begin(), is_repeated.end(), true) != is_repeated.end())
    devices.emplace_back(device).multiprocessor->source.keeps_weights = false;
  return devices;
}

/// The plan whose schedule ends first: the latency evaluator.
PlannedProgram best_program(std::vector<OperatorGraph> plans, const CompileOptions& options) {
  std::optional<PlannedProgram> best;
  for (const OperatorGraph& operators : plans)
    for (const VirtualDevice& device : devices_to_try(operators, options.device)) {
      const Placement placement = options.policy(operators, device);
      TaskProgram program = make_program(operators, options.device, placement);
      keep_weights(program);
      double end = planned_end(program);
      if (options.device.units > 1) end += options.device.seconds_to_start_units;
      if (!best || end < best->end) best = {std::move(program), end};
    }
  return std::move(*best);
}

/// The program with as many units as it ends first with. What more units gain has to be more than what costs are wrong
/// by, and than what it costs when other programs take one of the processors: all units wait for the slowest one.
Result<PlannedProgram> best_of_unit_counts(const ComputationGraph& computations,
                                           CompileOptions options) {
  constexpr double clearly = 0.9;
  std::optional<PlannedProgram> best;
  for (const std::uint32_t count : unit_counts(options)) {
    options.device.units = count;
    LEMMA_ASSIGN_OR_RETURN(std::vector<OperatorGraph> plans, operators_of(computations, options));
    PlannedProgram planned = best_program(std::move(plans), options);
    if (!best || planned.end < clearly * best->end) best = std::move(planned);
  }
  return std::move(*best);
}

/// The better of the programs of two layouts. Where blocks keep weights it matters less how these lie in the device's
/// memory, and other cuts may be better for them.
Result<TaskProgram> best_of_layouts(const ComputationGraph& computations,
                                    const CompileOptions& options) {
  const auto planned = [&](ReadBy by) -> Result<PlannedProgram> {
    LEMMA_ASSIGN_OR_RETURN(const ComputationGraph laid, laid_out(computations, options, by));
    return best_of_unit_counts(laid, options);
  };
  const ReadBy reader = reader_of(options.device);
  LEMMA_ASSIGN_OR_RETURN(PlannedProgram best, planned(reader));
  if (reader == ReadBy::lanes && !best.program.residents.is_empty()) {
    LEMMA_ASSIGN_OR_RETURN(PlannedProgram other, planned(ReadBy::vectors));
    if (other.end < best.end) best = std::move(other);
  }
  return std::move(best.program);
}

}  // namespace

std::vector<std::uint32_t> unit_counts(const CompileOptions& options) {
  std::vector<std::uint32_t> counts;
  if (options.chooses_units)
    for (std::uint32_t count = 1; count < options.device.units; count *= 2) counts.push_back(count);
  counts.push_back(options.device.units);
  return counts;
}

Result<std::vector<OperatorGraph>> task_operators(const Graph& graph,
                                                  const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(ComputationGraph computations, lowered(graph, options.observer));
  return task_operators(std::move(computations), options);
}

Result<std::vector<OperatorGraph>> task_operators(ComputationGraph computations,
                                                  const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(computations,
                         laid_out(std::move(computations), options, reader_of(options.device)));
  return operators_of(computations, options);
}

Result<TaskProgram> compile(const Graph& graph, const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(ComputationGraph computations, lowered(graph, options.observer));
  return compile(std::move(computations), options);
}

Result<TaskProgram> compile(ComputationGraph computations, const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(TaskProgram program, best_of_layouts(computations, options));
  if (options.observer) options.observer("schedule", program_text(program));
  LEMMA_RETURN_IF_ERROR(complete(program, options.observer));
  return program;
}

void make_room_for_addresses(TaskProgram& program, std::uint64_t bytes) {
  if (!program.residents.is_empty() && bytes > address_bytes(program.graph))
    choose_residents(program, bytes);
}

Result<TaskProgram> compile_in_order(OperatorGraph graph, std::vector<std::uint32_t> kernels) {
  Placement placement{std::move(kernels), {}};
  for (OperatorNumber op = 0; op < graph.operators.size(); ++op) {
    const Kernel& kernel = graph.operators[op].kernels[placement.kernels[op]];
    for (std::int64_t task = 0; task < kernel.task_count(); ++task)
      placement.tasks.push_back({{op, static_cast<std::uint32_t>(task)}, 0});
  }
  TaskProgram program = make_program(std::move(graph), cpu_device(1), placement);
  plan_memory(program);
  LEMMA_RETURN_IF_ERROR(check_program(program));
  return program;
}

Result<std::vector<TaskProgram>> compile_sizes(std::span<const Graph> graphs,
                                               const CompileOptions& options) {
  std::vector<TaskProgram> programs;
  for (const Graph& graph : graphs) {
    LEMMA_ASSIGN_OR_RETURN(TaskProgram program, compile(graph, options));
    programs.push_back(std::move(program));
  }
  if (programs.size() == 1) return programs;
  std::uint64_t addresses = 0;
  for (const TaskProgram& program : programs)
    addresses = std::max(addresses, address_bytes(program.graph));
  for (TaskProgram& program : programs) make_room_for_addresses(program, addresses);
  share_weights(programs);
  for (const TaskProgram& program : programs) LEMMA_RETURN_IF_ERROR(check_program(program));
  return programs;
}

}  // namespace lemma::backend
