#pragma once
// Loop nests that are all of a scan, a scatter, a selection by rank, a replacement or a Fourier transform (lowering/
// algorithms.h).

#include <optional>

#include "lowering/algorithms.h"
#include "lowering/lower.h"

namespace lemma::backend {

/// Nothing for other nests, and where elements would be rounded each time a term is added.
std::optional<lowering::Algorithm> find_nest_algorithm(const lowering::LoweredOutput& nest);

}  // namespace lemma::backend
