#pragma once
// Attention in one pass: rows of scores that become shares by exp and a sum, and sums of rows weighted with them, without
// scores in any memory (the running maximum and sum of a row: Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018; tile by tile: Dao et al., "FlashAttention", 2022). The block has tiles of keys and values in shared memory, and
// each warp 16 rows in registers, or in f32 without matrix units 16 lanes some rows (parts/attention.cuh.in).

#include "backend/blocks/tiled_product.h"

namespace lemma::backend {

struct Attention {
  TiledProduct scores, results;  // of which only factors and sums count, not tiles
  TileArithmetic arithmetic = TileArithmetic::f16;
  std::int64_t terms = 0, columns = 0, values = 0;  // of a score, of a row of scores, of a result
  std::int64_t tile_rows = 0;                       // that the block has at a time
  std::uint64_t shared_bytes = 0;                   // of the block
  double cycles = 0;                                // of the largest task

  /// Whether lanes compute it in f32, rather than matrix units.
  bool is_in_lanes() const { return arithmetic == TileArithmetic::f32; }
};

/// Columns of scores in a step.
inline constexpr std::int64_t attention_step = 64;

/// The phases of an operator as attention: products of rows (with whatever follows each: a scale, a mask), the greatest of each
/// row, exp of what is less, its sum, the quotient, and products with the rows of another tensor. `parts`: the elements of the
/// largest task along each axis of the grid. Nothing if they are none.
std::optional<Attention> find_attention(const TaskOperator& op,
                                        const std::vector<std::int64_t>& parts,
                                        const ProductLimits& limits);

}  // namespace lemma::backend
