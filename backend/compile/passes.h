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
  /// `kernels_of`: the target whose kernels of one's own are taken, or empty.
  Result<Graph> (*run)(const Graph& graph, std::string_view kernels_of);
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

/// The target whose kernels of one's own (ir/kernel_override.h) programs with these options take; empty: none.
std::string_view kernels_of(const CompileOptions& options);

/// Before a graph is lowered to computations.
std::span<const GraphPass> graph_passes();
/// Before computations are stitched, cut into tasks and scheduled.
std::span<const ComputationPass> computation_passes();
std::span<const ProgramPass> program_passes();

// All passes of a list. Each result goes to the options' observer, if there is one.
/// `kernels_of`: as lower_graph() takes it.
Result<ComputationGraph> lowered(const Graph& graph, const PassObserver& observer,
                                 std::string_view kernels_of = {});
Result<ComputationGraph> laid_out(ComputationGraph computations, const CompileOptions& options,
                                  ReadBy by);
Result<void> complete(TaskProgram& program, const PassObserver& observer);

}  // namespace lemma::backend
