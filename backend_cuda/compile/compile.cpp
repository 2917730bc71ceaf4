#include "backend_cuda/compile/compile.h"

#include <algorithm>
#include <optional>

#include "backend_cuda/fuse/fuse.h"
#include "backend_cuda/layout/layout.h"
#include "backend_cuda/lower/tile.h"
#include "backend_cuda/memory/plan_memory.h"
#include "backend_cuda/prove/check_program.h"
#include "backend_cuda/schedule/schedule.h"
#include "ir/expand.h"

namespace lemma::backend {

namespace {

/// The plan whose schedule ends first: the latency evaluator.
TaskProgram best_program(std::vector<OperatorGraph> plans, const CompileOptions& options) {
  std::optional<TaskProgram> best;
  double least = 0;
  for (OperatorGraph& operators : plans) {
    const Placement placement = options.policy(operators, options.device);
    TaskProgram program = make_program(std::move(operators), options.device, placement);
    const double end = planned_end(program);
    if (best && end >= least) continue;
    best = std::move(program);
    least = end;
  }
  return std::move(*best);
}

}  // namespace

Result<std::vector<OperatorGraph>> task_operators(const Graph& graph,
                                                  const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const Graph expanded, expand_composites(graph));
  LEMMA_ASSIGN_OR_RETURN(ComputationGraph computations, lower_graph(expanded));
  return task_operators(std::move(computations), options);
}

Result<std::vector<OperatorGraph>> task_operators(ComputationGraph computations,
                                                  const CompileOptions& options) {
  computations = widen_rows(store_windows(store_padding(std::move(computations))));
  if (options.fuses) computations = fuse(std::move(computations));
  computations = turn_weights(std::move(computations));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<StitchPlan> plans,
                         stitch_plans(computations, options.device, options.stitching));
  std::vector<OperatorGraph> result;
  for (const StitchPlan& plan : plans) {
    ComputationGraph grouped = computations;
    grouped.groups = plan.groups;
    LEMMA_ASSIGN_OR_RETURN(OperatorGraph operators,
                           tile(std::move(grouped), options.device, options.times));
    result.push_back(std::move(operators));
  }
  return result;
}

namespace {

Result<TaskProgram> program_of(std::vector<OperatorGraph> plans, const CompileOptions& options) {
  TaskProgram program = best_program(std::move(plans), options);
  plan_memory(program);
  share_counters(program);
  LEMMA_RETURN_IF_ERROR(check_program(program));
  return program;
}

}  // namespace

Result<TaskProgram> compile(const Graph& graph, const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<OperatorGraph> plans, task_operators(graph, options));
  return program_of(std::move(plans), options);
}

Result<TaskProgram> compile(ComputationGraph computations, const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<OperatorGraph> plans,
                         task_operators(std::move(computations), options));
  return program_of(std::move(plans), options);
}

Result<std::vector<TaskProgram>> compile_sizes(std::span<const Graph> graphs,
                                               const CompileOptions& options) {
  std::vector<TaskProgram> programs;
  for (const Graph& graph : graphs) {
    LEMMA_ASSIGN_OR_RETURN(TaskProgram program, compile(graph, options));
    programs.push_back(std::move(program));
  }
  if (programs.size() == 1) return programs;
  share_weights(programs);
  for (const TaskProgram& program : programs) LEMMA_RETURN_IF_ERROR(check_program(program));
  return programs;
}

}  // namespace lemma::backend
