#pragma once
// From graphs to task programs (docs/rtask.md): emitted for others, or built here, kept, and run.

#include <filesystem>
#include <span>
#include <string>

#include "backend_cuda/compile/compile.h"
#include "interpreter/run.h"
#include "ir/graph.h"

namespace lemma {

/// Number of threads for 0: all processors.
std::uint32_t thread_count(int threads);

/// The graph with the sizes of the inputs, and with what depends on constants alone computed.
Result<Graph> prepare_for_tasks(const Graph& graph,
                                std::span<const interpreter::NamedTensor> inputs);

/// Values of the graph's outputs, in order, by a program for so many threads. It is compiled by $CXX or c++ into a
/// folder named by its source, below $LEMMA_CACHE or ~/.cache/lemma, unless it is there. `seconds` is the time of
/// the computation alone.
Result<std::vector<interpreter::Tensor>> run_as_task_program(
    const Graph& graph, std::span<const interpreter::NamedTensor> inputs, int threads,
    double& seconds);

}  // namespace lemma
