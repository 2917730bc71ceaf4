#pragma once
// A loop nest whose sum of products is computed in tiles.

#include <string>
#include <vector>

#include "backend/blocks/attention.h"
#include "backend/blocks/tiled_product.h"
#include "backend/emit/emit_nest.h"

namespace lemma::backend {

/// Statements that compute the elements between the bounds of each axis and store them to `y`. In scope are the inputs,
/// called as in emit_element.h, `y`, `threads`, those of a block of `block_threads`, which all take part, and `slots`, as
/// much shared memory as the tiles take. `is_in_block`: by input. `is_stored_in_memory`: `y` is a pointer to the device's memory,
/// to which results are stored up to 16 bytes at a time.
Result<source::Statements> emit_tiled_nest(const lowering::LoweredOutput& nest,
                                           const TiledProduct& product,
                                           const std::vector<LoopBounds>& bounds,
                                           const std::vector<bool>& is_in_block,
                                           bool is_stored_in_memory, std::uint32_t block_threads);

/// Attention in one pass, for the rows of a task. `bounds`: of the axes of the grid. What the last phase needs is declared by
/// `tensors_of_results`, of the first one by `tensors_of_scores`, in a scope of its own.
Result<source::Statements> emit_attention(const Attention& attention, const Phase& scores,
                                          const Phase& results,
                                          const std::vector<LoopBounds>& bounds,
                                          source::Statements tensors_of_scores,
                                          source::Statements tensors_of_results,
                                          std::uint32_t block_threads);

}  // namespace lemma::backend
