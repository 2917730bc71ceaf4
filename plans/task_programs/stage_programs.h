#pragma once
// What a rank computes between two collectives, as task programs: compiled once, kept, and loaded (docs/rtask.md).

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plans/on_ranks/rank_program.h"
#include "plans/on_ranks/ranked_run.h"

namespace lemma::plans {

struct StagePrograms {
  StageEngine engine;
  /// Stages without a program, and why: the interpreter computes them.
  std::vector<std::string> interpreted;
};

/// The graphs of a rank's stages; null for one that computes nothing.
std::vector<const Graph*> stage_graphs(const RankProgram& program);
std::vector<const Graph*> stage_graphs(const std::vector<RankStage>& stages);

/// The graph with inputs "i0", "i1", ... and outputs "o0", "o1", ...: of equal stages it is the same.
Result<Graph> numbered(const Graph& stage);

/// Each stage is a program of one thread, which is compiled unless it is kept from before; equal stages have one. All ranks call
/// it, and compile in turn, so that what several have is compiled once. An error (`unsupported`): there is no compiler.
Result<StagePrograms> stage_programs(std::span<const Graph* const> stages,
                                     Communicator& communicator);

}  // namespace lemma::plans
