#pragma once
// What a rank computes between two collectives, as task programs: compiled once, kept, and loaded (docs/rtask.md).

#include <string>
#include <vector>

#include "base/result.h"
#include "plans/on_ranks/rank_program.h"

namespace lemma::plans {

struct StagePrograms {
  StageEngine engine;
  /// Stages without a program, and why: the interpreter computes them.
  std::vector<std::string> interpreted;
};

/// Each stage is a program of one thread, which is compiled unless it is kept from before. An error (`unsupported`): there
/// is no compiler.
Result<StagePrograms> stage_programs(const RankProgram& program);

}  // namespace lemma::plans
