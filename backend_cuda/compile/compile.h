#pragma once
// A graph as a proved task program: the stages of the backend in order.

#include "backend_cuda/fuse/stitch.h"
#include "backend_cuda/program.h"
#include "backend_cuda/schedule/placement.h"
#include "ir/graph.h"

namespace lemma::backend {

struct CompileOptions {
  VirtualDevice device = cpu_device(1);
  Policy policy = place_by_critical_path;
  bool fuses = true;  // the thread scheme
  StitchOptions stitching = {};
};

/// Sizes must be constant. Errors are `bad_input` and `unsupported` for the graph, and `internal` if the program
/// cannot be proved.
Result<TaskProgram> compile(const Graph& graph, const CompileOptions& options);

}  // namespace lemma::backend
