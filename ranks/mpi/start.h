#pragma once
// The start of MPI in a process, for the modules that use it.

#include <cstddef>

namespace lemma::ranks {

/// Whether MPI has started; otherwise the reason is in a text of at most `size` bytes.
bool start_mpi(char* reason, std::size_t size);

}  // namespace lemma::ranks
