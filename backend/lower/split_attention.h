#pragma once
// Attention of few rows over many columns, as a decoder's step with its cache, for devices with more units than rows.

#include "backend/lower/computation.h"

namespace lemma::backend {

/// Rows of scores, their softmax and the sums that its shares weight become those of parts of the columns, and one computation
/// that puts the parts together: the greatest score of a part, the sum of exp of all others less that, and the sums weighted with
/// these (Dao et al., "Flash-Decoding for long-context inference", 2023). Parts are as many as give each unit a row of one, of
/// equal lengths, and put together in the order of their columns, so that all runs have the same bytes. Left as it is:
/// attention whose rows fill the units, or of so many rows with the same keys that matrix units multiply them, and all where the
/// device is not one of multiprocessors.
ComputationGraph split_attention(ComputationGraph graph, const VirtualDevice& device);

}  // namespace lemma::backend
