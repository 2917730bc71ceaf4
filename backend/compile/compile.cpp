#include "backend/compile/compile.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "backend/compile/passes.h"
#include "backend/lower/computation_text.h"
#include "backend/lower/tile.h"
#include "backend/memory/order_within.h"
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

Result<TaskProgram> completed(const OrderedOperators& ordered, const VirtualDevice& device,
                              std::uint64_t limit) {
  TaskProgram program = make_program(ordered.graph, device, ordered.placement);
  program.memory = ordered.memory;
  program.memory->limit = limit;
  LEMMA_RETURN_IF_ERROR(complete(program, {}));
  return program;
}

/// The program of a plan of stitching, with an arena within the limit. Blocks of memory do not fit each other without gaps:
/// what is in use at one moment has to be less then.
Result<std::optional<TaskProgram>> fitting_program(const OperatorGraph& operators,
                                                   const VirtualDevice& device,
                                                   std::uint64_t limit) {
  constexpr int most_tries = 8;
  std::uint64_t in_use = limit;
  for (int i = 0; i < most_tries; ++i) {
    const auto quick = order_within(operators, device, in_use, Effort::quick);
    if (!quick) return std::nullopt;
    LEMMA_ASSIGN_OR_RETURN(TaskProgram program, completed(*quick, device, limit));
    if (program.arena_bytes <= limit) {
      LEMMA_ASSIGN_OR_RETURN(
          TaskProgram better,
          completed(*order_within(operators, device, in_use, Effort::usual), device, limit));
      if (better.arena_bytes <= limit) return better;
      return program;
    }
    const double part = static_cast<double>(limit) / static_cast<double>(program.arena_bytes);
    in_use = static_cast<std::uint64_t>(static_cast<double>(in_use) * std::min(part, 0.99));
  }
  return std::nullopt;
}

/// The bytes that a limit has to have at least, for an error.
Result<std::uint64_t> least_arena(const OperatorGraph& operators, const VirtualDevice& device) {
  const std::uint64_t limit = least_memory(operators, device);
  const auto ordered = order_within(operators, device, limit, Effort::quick);
  if (!ordered) return limit;
  LEMMA_ASSIGN_OR_RETURN(const TaskProgram program, completed(*ordered, device, limit));
  return program.arena_bytes;
}

/// The program within the limit of the first plan of stitching that has one, for so many units. Programs are for
/// processors.
Result<TaskProgram> within_limit(const ComputationGraph& computations, CompileOptions options,
                                 std::uint32_t units) {
  LEMMA_ASSIGN_OR_RETURN(const ComputationGraph laid,
                         laid_out(computations, options, ReadBy::vectors));
  const std::uint64_t limit = *options.memory_limit;
  options.device.units = units;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<OperatorGraph> plans, operators_of(laid, options));
  std::optional<std::uint64_t> least;
  for (const OperatorGraph& operators : plans) {
    LEMMA_ASSIGN_OR_RETURN(std::optional<TaskProgram> program,
                           fitting_program(operators, options.device, limit));
    if (program) return std::move(*program);
  }
  for (const OperatorGraph& operators : plans) {
    LEMMA_ASSIGN_OR_RETURN(const std::uint64_t bytes, least_arena(operators, options.device));
    least = std::min(bytes, least.value_or(bytes));
  }
  return bad_input(fmt::format(
      "the memory limit of {} bytes is too small: the least for which a plan is found is {} bytes",
      limit, *least));
}

double end_with_start(const TaskProgram& program, const VirtualDevice& device) {
  return planned_end(program) + (program.units.size() > 1 ? device.seconds_to_start_units : 0);
}

/// Of the programs that could be without a limit, with fewer units and with less that is stitched, the one that ends first of
/// those within the limit.
Result<std::optional<TaskProgram>> fitting_without_order(const ComputationGraph& computations,
                                                         CompileOptions options) {
  LEMMA_ASSIGN_OR_RETURN(const ComputationGraph laid,
                         laid_out(computations, options, ReadBy::vectors));
  std::optional<TaskProgram> best;
  for (const std::uint32_t count : unit_counts(options)) {
    options.device.units = count;
    LEMMA_ASSIGN_OR_RETURN(const std::vector<OperatorGraph> plans, operators_of(laid, options));
    for (const OperatorGraph& operators : plans) {
      TaskProgram program =
          make_program(operators, options.device, options.policy(operators, options.device));
      plan_memory(program);
      if (program.arena_bytes <= *options.memory_limit &&
          (!best ||
           end_with_start(program, options.device) < end_with_start(*best, options.device)))
        best = std::move(program);
    }
  }
  if (!best) return std::nullopt;
  LEMMA_RETURN_IF_ERROR(complete(*best, {}));
  return best;
}

/// What the program without a limit has and the one within it has not.
std::string given_up(const TaskProgram& usual, const TaskProgram& limited) {
  const auto stitched = [](const TaskProgram& program) {
    return std::ranges::count_if(program.graph.operators, &TaskOperator::is_stitched);
  };
  std::string result;
  const auto add = [&result](auto now, auto before, std::string_view what) {
    if (now < before)
      result +=
          fmt::format("{}{} {} of {}", result.empty() ? "" : ", ", before - now, what, before);
  };
  add(limited.units.size(), usual.units.size(), "units");
  add(stitched(limited), stitched(usual), "stitched operators");
  return result;
}

/// The program within the limit that ends first as planned: one of those without a limit, or one in another order, in which
/// operators may run again.
Result<TaskProgram> best_within_limit(const ComputationGraph& computations,
                                      const CompileOptions& options, const TaskProgram& usual) {
  LEMMA_ASSIGN_OR_RETURN(std::optional<TaskProgram> simple,
                         fitting_without_order(computations, options));
  auto ordered =
      within_limit(computations, options, static_cast<std::uint32_t>(usual.units.size()));
  if (!simple) return ordered;
  const double end = end_with_start(*simple, options.device);
  if (ordered && end_with_start(*ordered, options.device) <= end) return ordered;
  simple->memory.emplace();
  simple->memory->limit = *options.memory_limit;
  simple->memory->method = "another program in its own order";
  simple->memory->seconds_before = end_with_start(usual, options.device);
  simple->memory->seconds = simple->memory->seconds_bound = end;
  simple->memory->before = {usual.arena_bytes};
  simple->memory->after = {simple->arena_bytes};
  return std::move(*simple);
}

/// The program with the smallest arena in which each operator runs once, of all plans of stitching; on one unit.
Result<TaskProgram> of_least_memory(const ComputationGraph& computations, CompileOptions options,
                                    TaskProgram usual) {
  LEMMA_ASSIGN_OR_RETURN(const ComputationGraph laid,
                         laid_out(computations, options, ReadBy::vectors));
  options.device.units = 1;
  const std::uint64_t arena_before = usual.arena_bytes;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<OperatorGraph> plans, operators_of(laid, options));
  for (const OperatorGraph& operators : plans) {
    LEMMA_ASSIGN_OR_RETURN(TaskProgram program,
                           completed(order_of_least_memory(operators, options.device),
                                     options.device, std::numeric_limits<std::uint64_t>::max()));
    program.memory->arena_before = arena_before;
    if (program.arena_bytes < usual.arena_bytes) usual = std::move(program);
  }
  return usual;
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
  LEMMA_ASSIGN_OR_RETURN(ComputationGraph computations,
                         lowered(graph, options.observer, kernels_of(options)));
  return task_operators(std::move(computations), options);
}

Result<std::vector<OperatorGraph>> task_operators(ComputationGraph computations,
                                                  const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(computations,
                         laid_out(std::move(computations), options, reader_of(options.device)));
  return operators_of(computations, options);
}

Result<TaskProgram> compile(const Graph& graph, const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(ComputationGraph computations,
                         lowered(graph, options.observer, kernels_of(options)));
  return compile(std::move(computations), options);
}

Result<TaskProgram> compile(ComputationGraph computations, const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(TaskProgram program, best_of_layouts(computations, options));
  if (options.observer) options.observer("schedule", program_text(program));
  LEMMA_RETURN_IF_ERROR(complete(program, options.observer));
  if (options.takes_least_memory) return of_least_memory(computations, options, std::move(program));
  if (!options.memory_limit || program.arena_bytes <= *options.memory_limit) return program;
  LEMMA_ASSIGN_OR_RETURN(TaskProgram limited, best_within_limit(computations, options, program));
  limited.memory->given_up = given_up(program, limited);
  limited.memory->arena_before = program.arena_bytes;
  return limited;
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
