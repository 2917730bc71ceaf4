#pragma once
// Ranks as processes that a launcher (mpirun) has started.

#include <filesystem>
#include <functional>
#include <string>

#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

/// How a process ends whose rank has failed: what it says, and its exit code.
struct Ending {
  std::string line;
  int code = 1;
};

/// What the module for MPI exports.
using ConnectPlansFunction = Communicator*(char* reason, std::size_t size);
using EndPlansFunction = void(Communicator* communicator, const Ending* ending);
inline constexpr const char* connect_plans_name = "lemma_connect_plans";
inline constexpr const char* end_plans_name = "lemma_end_plans";

/// Runs the function in this process as one of the ranks. Where it fails, the run ends, all processes with it, and the first
/// one on a machine says why. The same where a process is killed. An error of kind `unsupported`: there is no module, or MPI
/// joins another number of ranks than the launcher started.
Result<void> run_as_process(const std::filesystem::path& module, std::size_t ranks,
                            const std::function<Result<void>(Communicator& communicator)>& run,
                            const std::function<Ending(const Error& error)>& ending_of);

}  // namespace lemma::plans
