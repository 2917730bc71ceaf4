#include "backend/tune/timed_plan.h"

#include <fmt/format.h>

#include "backend/emit/kernel_text.h"
#include "backend/execute/program_times.h"
#include "backend/execute/rounds.h"
#include "backend/execute/timing_lock.h"
#include "backend/tune/loop_model.h"
#include "base/sha256.h"

namespace lemma::backend {

std::string text(const LoopSchedules& schedules) {
  std::string result;
  for (const auto& [key, schedule] : schedules)
    if (!schedule.is_default())
      result += fmt::format("{}{} {}", result.empty() ? "" : "; ", key, text(schedule));
  return result;
}

Result<SchedulePlan> plan_schedules(const ComputationGraph& computations, LoopSchedules schedules,
                                    int threads) {
  CompileOptions options = compile_options(threads);
  options.schedules = std::make_shared<const LoopSchedules>(schedules);
  LEMMA_ASSIGN_OR_RETURN(TaskProgram program, compile(computations, options));
  LEMMA_ASSIGN_OR_RETURN(const KernelTexts kernels, kernel_texts(std::span(&program, 1)));
  std::string all;
  for (const std::string& phase : kernels.phases) all += phase;
  for (const KernelFunction& function : kernels.functions) all += function.definition;
  const double cycles = modelled_cycles(program, vector_registers());
  return SchedulePlan{std::move(schedules), std::move(program), sha256(all), cycles};
}

Result<PlanInstance> PlanInstance::open(const SchedulePlan& plan,
                                        const std::filesystem::path& folder,
                                        const SingleOperator& op) {
  ProgramCall call(plan.program, inputs_by_position(plan.program, op.inputs));
  LEMMA_ASSIGN_OR_RETURN(BuiltProgram program, BuiltProgram::open(folder));
  PlanInstance instance(std::move(call), std::move(program));
  LEMMA_RETURN_IF_ERROR(instance.run());
  return instance;
}

Result<std::vector<std::vector<double>>> time_plans(std::span<const SchedulePlan* const> plans,
                                                    std::span<const std::filesystem::path> folders,
                                                    const SingleOperator& op, int threads,
                                                    int sessions, int rounds) {
  RoundOptions options;
  options.rounds = rounds;
  options.least_rounds = rounds;
  options.block_seconds = 1e-3;
  options.one_thread = thread_count(threads) == 1;
  std::vector<std::vector<double>> result(plans.size());
  const TimingLock alone(most_seconds_of_waiting);
  for (int session = 0; session < sessions; ++session) {
    std::vector<PlanInstance> instances;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(PlanInstance instance, PlanInstance::open(*plans[i], folders[i], op));
      instances.push_back(std::move(instance));
    }
    std::vector<std::function<Result<void>()>> runs;
    for (PlanInstance& instance : instances)
      runs.emplace_back([&instance] { return instance.run(); });
    LEMMA_ASSIGN_OR_RETURN(const auto seconds, time_in_rounds(runs, options));
    for (std::size_t i = 0; i < plans.size(); ++i)
      result[i].insert(result[i].end(), seconds[i].begin(), seconds[i].end());
  }
  return result;
}

}  // namespace lemma::backend
