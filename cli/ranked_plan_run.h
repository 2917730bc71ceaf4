#pragma once
// Running a program in which each rank has operators of its own.

#include <vector>

#include "cli/plan_results.h"
#include "interpreter/run.h"
#include "plans/by_rank/ranked_program.h"

namespace lemma {

/// What the ranks sent, and the largest difference of the outputs from those of one device.
struct RankedRunResult {
  RankResults results;
  double difference = 0;
};

/// For inputs of the single-device graph by name.
Result<RankedRunResult> run_ranked(const Graph& single, const plans::RankedProgram& program,
                                   const std::vector<interpreter::NamedTensor>& inputs);

}  // namespace lemma
