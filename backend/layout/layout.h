#pragma once
// Tensors in memory as the loops over them want to read them: no bounds to check, neighbours side by side.

#include "backend/lower/computation.h"

namespace lemma::backend {

/// Who reads elements side by side: the vectors of a processor, or the lanes of a GPU's warp.
enum class ReadBy : std::uint8_t { vectors, lanes };

/// What known numbers do with the result of a sum of products one after the other, as a BatchNormalization after a convolution
/// does, goes into the weights and a bias: each weight times all factors of its result, rounded once. Not where a weight would
/// become too small or too large for that.
ComputationGraph fold_factors(ComputationGraph graph);

/// Sums whose terms are there only where an index is a multiple of a stride, as of transposed convolutions: the elements of
/// each residue are a sum of all its terms, computed by itself, and then put into their places.
ComputationGraph split_by_stride(ComputationGraph graph);

/// Factors of sums of products that are small whole numbers, such as quantized ones, or such numbers times scales, are stored
/// as bytes or as integers of 16 bits, in groups along the sum (backend/pairs.h), whatever type the sum is computed in.
ComputationGraph pair_integers(ComputationGraph graph);

/// Whole numbers of f64 that f32 has as well, with all numbers between them, are stored and computed in f32: sums of products of
/// bytes that do not lie side by side along the sum, as of convolutions of one channel in each group.
ComputationGraph narrow_whole_numbers(ComputationGraph graph);

/// Stores padding: where windows reach over the edge of a tensor, the tensor is stored once with its padding
/// (implicit padding of convolutions and pools), so that no read is guarded. Vectors leave out products behind a guard where
/// the other factor may be infinite; what they read is inside then.
ComputationGraph store_padding(ComputationGraph graph, ReadBy by = ReadBy::vectors);

/// Sums of products over channels and a window of 3x3 are computed by tiles of 4x4 results with Winograd's algorithm
/// (window_transform.h), where that takes clearly less time. `domain`: that the program computes in. Errors are those of
/// numbers that the domain does not have.
Result<ComputationGraph> tile_windows(ComputationGraph graph, lowering::Domain domain);

/// Stores windows: what those with steps read along short rows, as of strided convolutions, is stored in the order in
/// which it is read, so that the last two axes of the result are one loop.
ComputationGraph store_windows(ComputationGraph graph);

/// Results of windows along short rows are computed along rows as long as those that the windows go over, one after the
/// other without a gap, and then copied to rows of their own length: vectors are full.
ComputationGraph widen_rows(ComputationGraph graph);

/// Weights that a result's last axis goes through in steps are stored with that axis last, in panels as wide as a
/// block of elements where they can be. Lanes share the terms of results of few rows (blocks/shared_terms.h): for them,
/// the terms of such a result lie side by side.
ComputationGraph turn_weights(ComputationGraph graph, ReadBy by = ReadBy::vectors);

}  // namespace lemma::backend
