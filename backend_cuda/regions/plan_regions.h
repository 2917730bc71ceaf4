#pragma once
// A graph as a proved region program, whose calls are chosen by cost.

#include <optional>

#include "backend/compile/compile.h"
#include "backend_cuda/regions/region_program.h"
#include "costmodel/device.h"
#include "ir/graph.h"

namespace lemma::backend {

enum class CallChoice : std::uint8_t {
  by_cost,
  all,  // every operator that a call computes
};

struct RegionOptions {
  CompileOptions compile;
  Device calls;  // that calls are priced by; its launch_overhead is that of a node of the graph
  CallChoice choice = CallChoice::by_cost;
};

struct RegionPlan {
  /// Nothing if no call pays: one task program for the whole graph takes less.
  std::optional<RegionProgram> program;
  std::size_t candidates = 0;  // operators that calls could compute
  double alone_seconds = 0;    // of one task program, as simulated, with its launch
  std::optional<double>
      cut_seconds;  // of the best cut with calls, if there is any, also where it does not pay
};

/// Sizes must be constant. Errors are those of compile().
Result<RegionPlan> plan_regions(const Graph& graph, const RegionOptions& options);

}  // namespace lemma::backend
