#include "backend/execute/measured_times.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>

#include "backend/execute/code_digest.h"
#include "backend/execute/timing_lock.h"
#include "profiler/profile_database.h"
#include "system/parallel.h"
#include "system/program.h"

namespace lemma::backend {

namespace {

namespace fs = std::filesystem;
using interpreter::NamedTensor;

constexpr double least_seconds_of_task =
    1e-9;  // shorter tasks are within what the clock is wrong by

std::string source_of(const ProgramBuilder& builder) {
  return fmt::format("measured on one thread; task programs {}; {}", code_digest,
                     builder.identity());
}

/// Kernels of an operator that are measured: the first ones.
std::size_t measured_kernels(const TaskOperator& op, std::int64_t most_tasks) {
  std::size_t count = 1;
  while (count < op.kernels.size() && op.kernels[count].task_count() <= most_tasks) ++count;
  return count;
}

/// Operators one after the other on one unit, each with the kernel of this number, or its last one that is measured.
/// Those that are measured already have their first one.
Result<TaskProgram> program_with(const OperatorGraph& graph, std::uint32_t number,
                                 std::int64_t most_tasks, const std::set<std::string>& known) {
  std::vector<std::uint32_t> kernels;
  for (const TaskOperator& op : graph.operators) {
    const auto last = static_cast<std::uint32_t>(measured_kernels(op, most_tasks) - 1);
    kernels.push_back(known.contains(op.digest) ? 0 : std::min(number, last));
  }
  return compile_in_order(graph, std::move(kernels));
}

/// Least seconds of each operator.
Result<std::vector<double>> least_times(const TaskProgram& program, const fs::path& folder,
                                        std::span<const NamedTensor> inputs,
                                        const KernelMeasurement& measurement) {
  LEMMA_ASSIGN_OR_RETURN(const BuiltProgram built, BuiltProgram::open(folder));
  ProgramCall call(program, inputs_by_position(program, inputs));
  LEMMA_RETURN_IF_ERROR(built.run(call));
  const auto begin = std::chrono::steady_clock::now();
  std::vector<double> least;
  for (int round = 0; round < measurement.rounds; ++round) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (round > 2 && taken.count() > measurement.seconds_per_program) break;
    std::vector<double> seconds(program.graph.operators.size(), 0);
    LEMMA_RETURN_IF_ERROR(built.operator_times(call, seconds));
    if (least.empty()) least = seconds;
    for (std::size_t op = 0; op < least.size(); ++op) least[op] = std::min(least[op], seconds[op]);
  }
  return least;
}

/// Means over the operators that share a kernel.
void add_times(const TaskProgram& program, const std::vector<double>& least,
               const std::set<std::string>& known, KernelTimes& times) {
  struct Sum {
    OperatorNumber op = 0;
    double seconds = 0, operators = 0;
  };
  std::map<std::string, Sum> sums;
  for (OperatorNumber op = 0; op < least.size(); ++op) {
    Sum& sum = sums[program.graph.operators[op].digest];
    sum.op = op;
    sum.seconds += least[op];
    ++sum.operators;
  }
  for (const auto& [digest, sum] : sums) {
    const Kernel& kernel = program.kernel(sum.op);
    const double tasks = sum.operators * static_cast<double>(kernel.task_count());
    if (!known.contains(digest))
      times.add(program.graph.operators[sum.op], kernel,
                std::max(least_seconds_of_task, sum.seconds / tasks));
  }
}

/// The programs whose times are not known yet.
Result<std::vector<TaskProgram>> programs_of(const OperatorGraph& graph, std::int64_t most_tasks,
                                             const std::set<std::string>& known) {
  std::size_t kernels = 0;
  for (const TaskOperator& op : graph.operators)
    if (!known.contains(op.digest)) kernels = std::max(kernels, measured_kernels(op, most_tasks));
  std::vector<TaskProgram> programs;
  for (std::uint32_t number = 0; number < kernels; ++number) {
    LEMMA_ASSIGN_OR_RETURN(TaskProgram program, program_with(graph, number, most_tasks, known));
    programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace

Result<KernelTimes> measure_kernels(const Graph& graph, std::span<const NamedTensor> inputs,
                                    const CompileOptions& options, const ProgramBuilder& builder,
                                    const KernelMeasurement& measurement) {
  const ProgramBuilder timing = builder.with_operator_times();
  const std::int64_t most_tasks =
      std::int64_t{measurement.most_tasks_per_unit} * options.device.units;
  KernelTimes times;
  times.device = processor_identity();
  times.source = source_of(builder);
  CompileOptions with_units = options;
  std::set<std::string> known;
  for (const std::uint32_t units : unit_counts(options)) {
    with_units.device.units = units;
    LEMMA_ASSIGN_OR_RETURN(const std::vector<OperatorGraph> plans,
                           task_operators(graph, with_units));
    for (const OperatorGraph& plan : plans) {
      LEMMA_ASSIGN_OR_RETURN(const std::vector<TaskProgram> programs,
                             programs_of(plan, most_tasks, known));
      std::vector<fs::path> folders(programs.size());
      LEMMA_RETURN_IF_ERROR(parallel_try(programs.size(), 0, [&](std::size_t i) -> Result<void> {
        LEMMA_ASSIGN_OR_RETURN(folders[i], timing.write(programs[i]));
        return timing.build(folders[i], measurement.is_over);
      }));
      const TimingLock alone(most_seconds_of_waiting);
      for (std::size_t i = 0; i < programs.size(); ++i) {
        LEMMA_ASSIGN_OR_RETURN(const std::vector<double> least,
                               least_times(programs[i], folders[i], inputs, measurement));
        add_times(programs[i], least, known, times);
      }
      for (const TaskOperator& op : plan.operators) known.insert(op.digest);
    }
  }
  return times;
}

Result<LoadedTimes> load_measured_times(const fs::path& file) {
  LoadedTimes loaded;
  LEMMA_ASSIGN_OR_RETURN(loaded.times, load_kernel_times(file));
  if (const std::string here = processor_identity(); loaded.times.device != here)
    return bad_input(fmt::format("{}: times of '{}', not of this processor, '{}'", file.string(),
                                 loaded.times.device, here));
  LEMMA_ASSIGN_OR_RETURN(const fs::path cache, default_cache_folder());
  const auto builder = ProgramBuilder::create(cache);
  if (builder && loaded.times.source != source_of(*builder))
    loaded.note =
        fmt::format("{}: {}; here: {}", file.string(), loaded.times.source, source_of(*builder));
  return loaded;
}

}  // namespace lemma::backend
