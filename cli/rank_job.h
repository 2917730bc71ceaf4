#pragma once
// Commands whose work is distributed over the ranks that mpirun started (ranks/ranks.h).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "batch/exit_code.h"
#include "ranks/ranks.h"

namespace lemma {

/// Runs the job on all ranks. The first one prints what its job returns, or the one line that says why
/// the job has ended; the others say nothing. All return the same code.
ExitCode run_on_ranks(const std::function<Result<std::string>(ranks::Ranks&)>& job);

/// What all ranks have used.
struct UseOfRanks {
  std::size_t ranks = 1;
  double processor_seconds = 0;  // of all ranks, with the processes that they started
  std::int64_t peak_bytes = 0;   // of the rank with most
};
/// Called by all ranks; all get it.
Result<UseOfRanks> use_of_ranks(ranks::Ranks& ranks);

/// An error if several ranks were started to run a command that does its work in one process.
Result<void> check_ranks(int argument_count, const char* const* arguments);
/// A module for MPI. It stands beside the program as the data do (targets/data_files.h).
std::filesystem::path rank_module(const char* name);
/// Whether this process speaks for all. The others wait a moment: mpirun ends all when one has ended.
bool speaks_for_all();
/// What the program ends with after a command that all ranks carry out: an error is told by one of them.
ExitCode exit_code_of_rank(const Result<ExitCode>& done);
/// Says that a job was interrupted and can be resumed.
void report_interruption();

/// The hidden command of `lemma rules` that answers queries to Z3 (verifier/index/solver_process.h): each rank has
/// processes of its own that run it.
inline constexpr std::string_view solver_command = "answer-queries";

}  // namespace lemma
