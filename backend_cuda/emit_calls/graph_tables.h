#pragma once
// The nodes of a region program as constant tables.

#include <string>

#include "backend_cuda/regions/region_program.h"

namespace lemma::backend {

/// The libraries that a program calls.
struct CalledLibraries {
  bool cublas = false, cudnn = false;
};
CalledLibraries called_libraries(const RegionProgram& program);

std::string graph_tables(const RegionProgram& program);

}  // namespace lemma::backend
