#pragma once
// Running a program in which each rank has operators of its own.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/plan_results.h"
#include "interpreter/run.h"
#include "plans/by_rank/ranked_program.h"

namespace lemma {

struct RankedRunOptions {
  bool has_task_programs = false;
  std::string exchange;  // one of plans::exchange_names()
  std::uint64_t steps = 1;
  plans::ExchangeSchedules schedules = {};
};

/// For inputs of the single-device graph by name. The outputs of the first rank are those of the program, whole; the others
/// have none.
Result<RankResults> run_ranked(const Graph& single, const plans::RankedProgram& program,
                               const std::vector<interpreter::NamedTensor>& inputs,
                               const RankedRunOptions& options);

}  // namespace lemma
