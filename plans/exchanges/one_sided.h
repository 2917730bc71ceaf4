#pragma once
// Exchanges of tensors whose sizes and places are known before the run: each is put where it is read, with a flag behind it.
// Memory is registered in the first step. Each exchange of a step has its own, for two steps in turn: what is received in one
// step stays while the next one runs.

#include <cstdint>
#include <memory>

#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

/// All ranks call it. An error: the base registers no memory.
Result<std::unique_ptr<Communicator>> one_sided(Communicator& base);

}  // namespace lemma::plans
