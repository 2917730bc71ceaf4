#pragma once
// Detects whether mpirun started this process as one of several ranks, and connects them.

#include <filesystem>
#include <memory>

#include "ranks/ranks.h"

namespace lemma::ranks {

/// What the launcher says in the environment: of OpenMPI's mpirun, of MPICH's, or Slurm's.
struct Launch {
  std::size_t rank = 0, size = 1;
};
Launch launch_of_environment();

/// The ranks of this launch. A process that was started alone loads no MPI and pays nothing; others
/// load `module`. An error of kind `unsupported` means that there is none, or none that fits the
/// launcher.
Result<std::unique_ptr<Ranks>> connect(const std::filesystem::path& module);

}  // namespace lemma::ranks
