#pragma once
// Plans that are carried out by the interpreter.

#include <span>

#include "interpreter/run.h"
#include "memory_plan/graphs/graph_problem.h"

namespace lemma::memory_plan {

/// The graph's outputs, computed step by step: what a plan frees is gone. An error: a step reads a value that is not there,
/// or an output is not there at the end. Inputs are in the order of the graph's.
Result<std::vector<interpreter::Tensor>> run_plan(const Graph& graph, const GraphProblem& problem,
                                                  const Plan& plan,
                                                  std::span<const interpreter::Tensor> inputs);

}  // namespace lemma::memory_plan
