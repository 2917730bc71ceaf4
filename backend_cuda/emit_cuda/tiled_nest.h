#pragma once
// A loop nest whose sum of products is computed in tiles.

#include <string>
#include <vector>

#include "backend/blocks/tiled_product.h"
#include "backend/emit/emit_nest.h"

namespace lemma::backend {

/// Statements that compute the elements between the bounds of each axis and store them to `y`. In scope are the inputs,
/// called as in emit_element.h, `y`, `threads`, those of a block of `block_threads`, which all take part, and `slots`, as
/// much shared memory as the tiles take.
Result<source::Statements> emit_tiled_nest(const lowering::LoweredOutput& nest,
                                           const TiledProduct& product,
                                           const std::vector<LoopBounds>& bounds,
                                           std::uint32_t block_threads);

}  // namespace lemma::backend
