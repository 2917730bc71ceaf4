#pragma once
// The passes of the compiler, in the order in which they run.

#include <span>
#include <string_view>

#include "backend/compile/compile.h"
#include "backend/layout/layout.h"

namespace lemma::backend {

/// A pass from a graph to an equal one.
struct GraphPass {
  std::string_view name;
  Result<Graph> (*run)(const Graph& graph);
};

/// A pass from computations to others with the same results.
struct ComputationPass {
  std::string_view name;
  bool (*is_used)(const CompileOptions& options);
  /// `by`: who reads the elements.
  Result<ComputationGraph> (*run)(ComputationGraph graph, const CompileOptions& options, ReadBy by);
};

/// Completes a scheduled program.
struct ProgramPass {
  std::string_view name;
  Result<void> (*run)(TaskProgram& program);
};

/// Before a graph is lowered to computations.
std::span<const GraphPass> graph_passes();
/// Before computations are stitched, cut into tasks and scheduled.
std::span<const ComputationPass> computation_passes();
std::span<const ProgramPass> program_passes();

// All passes of a list. Each result goes to the options' observer, if there is one.
Result<ComputationGraph> lowered(const Graph& graph, const PassObserver& observer);
Result<ComputationGraph> laid_out(ComputationGraph computations, const CompileOptions& options,
                                  ReadBy by);
Result<void> complete(TaskProgram& program, const PassObserver& observer);

}  // namespace lemma::backend
