#pragma once
// Reads of weights from the memory of a block, where they have been copied to (resident_weights.h).

#include <vector>

#include "backend/program.h"

namespace lemma::backend {

/// The arguments of an operator that tasks can read from there: weights of which every read lies inside, at a place that
/// no element decides. `largest`: what the largest task of a kernel reads.
std::vector<ResidentLayout> resident_layouts(const TaskOperator& op,
                                             const std::vector<Buffer>& buffers,
                                             const TaskAccess& largest);

/// The phases of an operator with these reads: each is one of a tensor with one axis, whose first element is at the origin
/// of the read.
PhaseProgram with_resident_reads(const TaskOperator& op,
                                 const std::vector<ResidentLayout>& layouts);

}  // namespace lemma::backend
