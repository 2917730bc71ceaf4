#pragma once
// Windows of processes: transfers of one side by MPI.

#include <functional>
#include <memory>

#include "plans/on_ranks/windows.h"

namespace lemma::plans {

/// `communicator_of`: gives the MPI_Comm of a group.
std::unique_ptr<Windows> windows_of_processes(
    std::function<const void*(const Group& group)> communicator_of);

}  // namespace lemma::plans
