#pragma once
// Which weights the units of a program keep (resident_weights.h).

#include "backend/program.h"

namespace lemma::backend {

/// Chooses parts of what the tasks of a unit read in their order, whatever they wait for: parts that most tasks read
/// come first, as long as the memory of the unit has room for them beside what tasks take for themselves. A part that
/// one task reads is kept only with others. `addresses`: the bytes of the unit's memory that addresses take at least.
void choose_residents(TaskProgram& program, std::uint64_t addresses = 0);

}  // namespace lemma::backend
