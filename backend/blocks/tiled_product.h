#pragma once
// A sum of products of two tensors, in a loop nest, as a product of matrices that a block computes in tiles (parts/
// tiled_products.cuh.in): matrix products, and convolutions, whose matrices are made where they are read (implicit
// GEMM: Chetlur et al., "cuDNN: efficient primitives for deep learning", section 3).

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/blocks/tile_choice.h"
#include "backend/program.h"

namespace lemma::backend {

/// One side of the products. Its lines are the rows or the columns of the result.
struct Factor {
  lowering::TermNumber term = 0;
  std::vector<std::size_t> lines;  // axes of the nest
  /// Read inside its tensor at a place that loop variables alone decide, which is a sum of one for the line and one for
  /// the term; else it is computed element by element.
  bool is_read = false;
  bool is_in_block = false;  // where it is read
  FactorAccess access;
};

struct TiledProduct {
  lowering::TermNumber sum = 0;
  Factor left, right;                // rows and columns: the last axis is one of the columns
  std::vector<std::size_t> batches;  // axes that both factors have
  TileChoice tiles;
};

struct ProductLimits {
  TileLimits tiles;
  bool has_matrix_units = false;                                        // of f16 and bf16
  bool takes_tf32 = false;                                              // f32 is rounded to TF32
  std::set<std::pair<std::string, std::string>> refused_tiles_of = {};  // CudaOptions
  /// Whether each input of the nest is in the memory of the block. None: no input is.
  std::vector<bool> is_in_block = {};
};

/// The sum of the nest that takes most, in the tiles that take least time; nothing where it is better computed without
/// them, as for few rows or columns. `parts`: the elements of the largest task along each axis.
std::optional<TiledProduct> find_tiled_product(const lowering::LoweredOutput& nest,
                                               const std::vector<std::int64_t>& parts,
                                               const ProductLimits& limits);

/// Terms that the root is computed from, itself included, by number.
std::vector<bool> terms_below(const lowering::LoweredOutput& nest, lowering::TermNumber root);

}  // namespace lemma::backend
