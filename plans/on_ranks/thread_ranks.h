#pragma once
// Ranks as threads of one process. What is exchanged is copied once, from the sender's memory to the receiver's.

#include <functional>

#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

/// Runs the function once for each rank, each in a thread. The first error ends all: the others' exchanges fail then.
Result<void> run_as_threads(std::size_t ranks,
                            const std::function<Result<void>(Communicator& communicator)>& run);

}  // namespace lemma::plans
