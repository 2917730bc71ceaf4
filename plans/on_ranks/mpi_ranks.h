#pragma once
// Ranks as processes that a launcher (mpirun) has started.

#include <filesystem>
#include <functional>

#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

/// What the module for MPI exports.
using ConnectPlansFunction = Communicator*(char* reason, std::size_t size);
using EndPlansFunction = void(Communicator* communicator, int failed);
inline constexpr const char* connect_plans_name = "lemma_connect_plans";
inline constexpr const char* end_plans_name = "lemma_end_plans";

/// Runs the function in this process as one of the ranks. Where it fails, the whole run ends. An error of kind
/// `unsupported`: there is no module, or MPI joins another number of ranks than the launcher started.
Result<void> run_as_process(const std::filesystem::path& module, std::size_t ranks,
                            const std::function<Result<void>(Communicator& communicator)>& run);

}  // namespace lemma::plans
