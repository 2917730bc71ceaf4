#pragma once
// What a task needs its unit to keep so that it reads its weights there.

#include "backend/program.h"

namespace lemma::backend {

/// Parts at place 0, and the task's reads of them: part i is that of read i. None where the task cannot read its weights
/// from its unit, where no other operator reads any of them, and where they are less than a cache line.
struct ResidentNeeds {
  std::vector<ResidentPart> parts;
  std::vector<ResidentRead> reads;
};

/// `is_repeated`: by buffer, of repeated_weights.
ResidentNeeds resident_needs(const OperatorGraph& graph, const std::vector<bool>& is_repeated,
                             OperatorNumber op, const Kernel& kernel, const TaskAccess& access);

/// What a part takes of the memory of a unit.
std::uint64_t aligned_bytes(const ResidentPart& part);

}  // namespace lemma::backend
