#pragma once
// A program of an operator with certain loop schedules: planned, built, and timed in turn with others.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/compile/compile.h"
#include "backend/execute/built_program.h"
#include "profiler/single_operator.h"

namespace lemma::backend {

struct SchedulePlan {
  LoopSchedules schedules;
  TaskProgram program;
  std::string digest;  // of the source of its kernels
  double cycles = 0;   // as modelled (loop_model.h)
};

/// The schedules as one line: "4f1c... rows=6; 77ab... vectors=2", empty for none.
std::string text(const LoopSchedules& schedules);

/// An error: there is no program with these.
Result<SchedulePlan> plan_schedules(const ComputationGraph& computations, LoopSchedules schedules,
                                    int threads);

/// An instance of a built program, which has run once.
class PlanInstance {
 public:
  static Result<PlanInstance> open(const SchedulePlan& plan, const std::filesystem::path& folder,
                                   const SingleOperator& op);
  Result<void> run() { return program_.run(call_); }
  const std::vector<interpreter::Tensor>& outputs() const { return call_.outputs(); }

 private:
  PlanInstance(ProgramCall call, BuiltProgram program)
      : call_(std::move(call)), program_(std::move(program)) {}
  ProgramCall call_;
  BuiltProgram program_;
};

/// Seconds of a run by plan and round, of new instances. `rounds`: of each of the sessions, which have instances of their own.
Result<std::vector<std::vector<double>>> time_plans(std::span<const SchedulePlan* const> plans,
                                                    std::span<const std::filesystem::path> folders,
                                                    const SingleOperator& op, int threads,
                                                    int sessions, int rounds);

}  // namespace lemma::backend
