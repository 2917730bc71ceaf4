#pragma once
// The target rtask-cpu: operators and models as task programs for this processor, built and timed in this process.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backend/compile/compile.h"
#include "backend/execute/built_program.h"
#include "profiler/model_timing.h"
#include "profiler/operator_timer.h"

namespace lemma::backend {

/// What runtimes of this target are called in the profile database; their version follows.
inline constexpr std::string_view task_program_runtime = "task programs ";

/// Options with at most so many threads (0: all processors): as many as it ends first with as planned. With a
/// description, for all of its units.
CompileOptions compile_options(int threads, const std::optional<VirtualDevice>& device = {});

/// An application of an operator is a program of its own, which several instances run in turn if weights are not near:
/// each has weights of its own, as far away as in a model. The time is that of a run less that of the program that
/// copies one element, in the same round. Programs of the next applications are compiled beside that of the first that is
/// not there, as many as there are processors; nothing is compiled while something is timed.
class TaskProgramOperators : public DirectTimer {
 public:
  /// `builder`: null if there is no compiler; `why_not` says so then.
  /// `schedules`: of computations; or null.
  TaskProgramOperators(std::shared_ptr<const ProgramBuilder> builder, int threads,
                       std::string why_not = {},
                       std::shared_ptr<const LoopSchedules> schedules = nullptr);
  ~TaskProgramOperators() override;

  Result<RuntimeIdentity> identity() override;

 protected:
  Result<OperatorTime> time(const CostKey& key, WeightPlace weights,
                            const MeasurementOptions& options) override;
  void expect(std::vector<CostKey> keys) override { expected_ = std::move(keys); }
  std::optional<OperatorTime> time_of_run() const override { return run_; }

 private:
  class TimedProgram;
  Result<TimedProgram*> empty_program(const std::function<bool()>& is_over);

  Result<void> build_with_next(const CostKey& key, const std::filesystem::path& folder,
                               const std::function<bool()>& is_over);

  std::shared_ptr<const ProgramBuilder> builder_;
  int threads_;
  std::string why_not_;
  std::shared_ptr<const LoopSchedules> schedules_;
  std::vector<CostKey> expected_;
  std::unique_ptr<TimedProgram> empty_;
  std::optional<OperatorTime> run_;
};

/// Whole models. Programs that are not there are compiled at the same time.
class TaskProgramModels : public ModelTimer {
 public:
  TaskProgramModels(std::shared_ptr<const ProgramBuilder> builder, int threads,
                    std::function<bool()> is_interrupted = {},
                    std::shared_ptr<const LoopSchedules> schedules = nullptr);

  std::string runtime() override;
  bool was_available() const override { return builder_ != nullptr; }
  /// `optimized` and `scratch_folder` of the request have no meaning here.
  Result<std::vector<ModelTiming>> time(const TimingRequest& request) override;
  double seconds_to_prepare(std::int64_t operators) const override;

 private:
  std::shared_ptr<const ProgramBuilder> builder_;
  int threads_;
  std::function<bool()> is_interrupted_;
  std::shared_ptr<const LoopSchedules> schedules_;
};

}  // namespace lemma::backend
