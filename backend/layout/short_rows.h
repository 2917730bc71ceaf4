#pragma once
// What the passes over layouts ask of rows and operands.

#include <cstdint>

#include "backend/lower/computation.h"

namespace lemma::backend {

/// The part of vectors of up to 32 elements that does something, where loops go over rows of this length.
double share_used(std::int64_t length);

/// Operands that the only output of the definition does not read become absent.
void forget_unread(Computation& computation);

}  // namespace lemma::backend
