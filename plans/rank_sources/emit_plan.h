#pragma once
// A plan as a directory of source: a program for each rank, which computes by task programs and exchanges over MPI. It needs a C++
// compiler and MPI, and nothing of Lemma (docs/plans.md, "Plans as source").

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "interpreter/run.h"
#include "ir/graph.h"
#include "plans/by_rank/ranked_program.h"
#include "plans/program.h"

namespace lemma::plans {

struct PlanEmissionRequest {
  std::string title;                             // for people
  std::filesystem::path directory;               // that is made
  bool replaces = false;                         // one that is there and was emitted
  std::vector<interpreter::NamedTensor> inputs;  // of the single-device graph, in its order
};

/// What was written.
struct PlanEmission {
  std::size_t ranks = 0;
  std::size_t programs = 0;  // distinct ones of ranks
  std::size_t stages = 0;    // distinct task programs
};

/// Inputs and the outputs of one device are beside the source, which compares what the ranks give with them. Errors are
/// `unsupported`: an operator that has no task program, a collective that cannot be written.
Result<PlanEmission> emit_plan(const Graph& single, const Program& program,
                               const PlanEmissionRequest& request);
Result<PlanEmission> emit_plan(const Graph& single, const RankedProgram& program,
                               const PlanEmissionRequest& request);

}  // namespace lemma::plans
