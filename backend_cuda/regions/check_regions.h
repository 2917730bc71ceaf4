#pragma once
// The proof of a region program, before anything is emitted: whatever the order in which its nodes run, those with edges
// between them excepted, each reads what it is meant to read. Task programs are proved by themselves
// (prove/check_program.h); this takes what they read and write as a whole. It shares no code with the planner.

#include "backend_cuda/regions/region_program.h"

namespace lemma::backend {

/// The error, of kind `internal`, is the first violation.
Result<void> check_regions(const RegionProgram& program);

}  // namespace lemma::backend
