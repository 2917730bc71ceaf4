#pragma once
// Long reductions of few elements, whose terms are dealt out to partial results.

#include "lowering/lower.h"

namespace lemma::backend {

/// Whether so few elements are computed by so long a reduction that its terms run along the lanes (lowering/lower.h). Not where
/// the elements lie side by side in what is read and fill a vector: terms of an element are far apart there. The nest alone
/// decides.
bool deals_out_terms(const lowering::LoweredOutput& nest);

}  // namespace lemma::backend
