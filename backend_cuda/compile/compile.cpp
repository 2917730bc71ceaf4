#include "backend_cuda/compile/compile.h"

#include "backend_cuda/fuse/fuse.h"
#include "backend_cuda/layout/layout.h"
#include "backend_cuda/lower/tile.h"
#include "backend_cuda/memory/plan_memory.h"
#include "backend_cuda/prove/check_program.h"
#include "backend_cuda/schedule/schedule.h"
#include "ir/expand.h"

namespace lemma::backend {

Result<TaskProgram> compile(const Graph& graph, const CompileOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const Graph expanded, expand_composites(graph));
  LEMMA_ASSIGN_OR_RETURN(ComputationGraph computations, lower_graph(expanded));
  computations = widen_rows(store_windows(store_padding(std::move(computations))));
  if (options.fuses) computations = fuse(std::move(computations));
  computations = turn_weights(std::move(computations));
  LEMMA_ASSIGN_OR_RETURN(OperatorGraph operators, tile(std::move(computations), options.device));
  const Placement placement = options.policy(operators, options.device);
  TaskProgram program = make_program(std::move(operators), options.device, placement);
  plan_memory(program);
  LEMMA_RETURN_IF_ERROR(check_program(program));
  return program;
}

}  // namespace lemma::backend
