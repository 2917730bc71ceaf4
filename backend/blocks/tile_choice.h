#pragma once
// The tiles in which a block computes a product of matrices, by shape.

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace lemma::backend {

/// What computes the products, and what the tiles in shared memory have.
enum class TileArithmetic : std::uint8_t {
  f32,   // the lanes of the multiprocessor
  f16,   // matrix units (tensor cores), sums in f32
  bf16,  // the same
  tf32,  // the same, of elements of f32 that are rounded
};

/// How a factor is brought to shared memory.
struct FactorAccess {
  bool lines_together =
      true;  // neighbours in memory are of neighbouring lines, else of neighbouring terms
  std::int64_t width = 1;  // elements that are copied at once
  bool is_copied = false;  // by cp.async, else through registers
};

/// Rows or columns of a product in tiles: with fewer, a factor is read for nearly each element.
inline constexpr std::int64_t least_lines = 4;

/// Rows by columns by terms.
struct ProductShape {
  std::int64_t rows = 1, columns = 1, terms = 1;
};

struct TileChoice {
  TileArithmetic arithmetic = TileArithmetic::f32;
  ProductShape tile;
  /// The part of a thread; with matrix units that of a warp, in blocks of 16 rows and 8 columns.
  std::int64_t part_rows = 1, part_columns = 1;
  std::int64_t slices = 1;  // threads or warps that share the terms of a step
  std::int64_t stages = 2;  // tiles of a factor in shared memory
  std::uint64_t shared_bytes = 0;
  double cycles = 0;  // of the multiprocessor
};

/// What a block has for a product.
struct TileLimits {
  std::int64_t block_threads = 256;
  std::uint64_t shared_bytes = 0;  // that tiles may take
  /// Tiles that are not chosen, by name: such as those that nvcc was seen to spill registers for.
  std::set<std::string> refused = {};
  // Places in the order of instructions that an instruction of a warp takes: a multiplication with an addition of f32, and a
  // product of matrices of 16 by 8 by 16 elements of f16.
  double multiply_add = 1, matrix_product = 6;
  std::int64_t blocks = 1;  // that share the registers of a multiprocessor
  std::int64_t warp_lanes = 32;

  std::int64_t warps() const { return block_threads / warp_lanes; }
};

// Places in the order of instructions that an access counts as (analytic; nothing is measured).
inline constexpr double of_shared_load = 8, of_global_load = 12, of_barrier = 40, of_result = 24,
                        of_loop = 6;
/// A load from shared memory of a term that lanes share: the multiprocessor brings 32 elements in a cycle, in which its four
/// schedulers begin an instruction each. Terms have places that are constants apart.
inline constexpr double of_shared_term = 4;
/// Each further line of memory that a warp reads at once: a cycle, in which four schedulers begin an instruction. A value that
/// lanes exchange in pairs, and put together.
inline constexpr double of_line = 4, of_exchange = 8;

/// The cycles of a multiprocessor for so many instructions in each of some threads.
double cycles_of(double instructions, std::int64_t threads);

/// "f32 16x64x16, lines 4 by terms 1, parts 4x8, 2 slices, 2 stages, 256 threads": all that its code depends on but the
/// nest.
std::string tile_name(const TileChoice& choice, const FactorAccess& left, const FactorAccess& right,
                      std::int64_t block_threads);

/// The tiles that take least, of those for which threads have the registers and the block the shared memory; nothing if the
/// threads take less when each has whole elements, or warps share their terms.
/// Times are counted in cycles, from instructions, of which a load from shared memory counts as several (analytic; nothing
/// is measured).
std::optional<TileChoice> choose_tiles(const ProductShape& product, TileArithmetic arithmetic,
                                       const FactorAccess& left, const FactorAccess& right,
                                       const TileLimits& limits);

}  // namespace lemma::backend
