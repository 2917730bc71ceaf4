#include "ranks/mpi/start.h"

#include <mpi.h>

#include <cstdio>

namespace lemma::ranks {

bool start_mpi(char* reason, std::size_t size) {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS &&
      provided >= MPI_THREAD_FUNNELED)
    return true;
  std::snprintf(reason, size, "%s", "it does not start, or knows no threads");
  return false;
}

}  // namespace lemma::ranks
