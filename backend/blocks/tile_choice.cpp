#include "backend/blocks/tile_choice.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

namespace lemma::backend {

namespace {

constexpr std::int64_t warp = 32;
constexpr double most_vectors = 8;  // that a thread brings of a factor in a step

// Instructions that an access counts as.
constexpr double of_matrix_load = 10, of_copy = 8, of_element = 24, of_first_step = 600;
/// A multiprocessor has four schedulers, which need about two warps each to be busy.
constexpr double schedulers = 4, busy_warps = 8;

double parts_in(std::int64_t whole, std::int64_t part) {
  return static_cast<double>((whole + part - 1) / part);
}

bool has_matrix_units(TileArithmetic arithmetic) { return arithmetic != TileArithmetic::f32; }

std::int64_t element_bytes(TileArithmetic arithmetic) {
  return arithmetic == TileArithmetic::f16 || arithmetic == TileArithmetic::bf16 ? 2 : 4;
}

/// The bytes of a tile, as FactorTile and product_bytes of parts/tiled_products.cuh.in have it.
std::int64_t tile_bytes(const FactorAccess& access, std::int64_t lines, std::int64_t terms,
                        std::int64_t bytes) {
  const std::int64_t padding = (access.lines_together && bytes == 4 ? 32 : 16) / bytes;
  return access.lines_together ? (lines + padding) * terms * bytes
                               : (terms + padding) * lines * bytes;
}

class Chooser {
 public:
  Chooser(const ProductShape& product, TileArithmetic arithmetic, const FactorAccess& left,
          const FactorAccess& right, const TileLimits& limits)
      : product_(product),
        arithmetic_(arithmetic),
        left_(left),
        right_(right),
        limits_(limits),
        threads_(limits.block_threads),
        least_time_(time_without_tiles()) {}

  std::optional<TileChoice> run() {
    if (product_.rows < least_lines || product_.columns < least_lines) return std::nullopt;
    const bool by_warps = has_matrix_units(arithmetic_);
    for (std::int64_t slices = 1; slices <= (by_warps ? 2 : 4); slices *= 2)
      for (std::int64_t rows = 1; rows <= (by_warps ? 4 : 8); rows *= 2)
        for (std::int64_t columns = 1; columns <= 8; columns *= 2)
          if (!by_warps || rows * columns <= 16) try_parts(rows, columns, slices);
    return best_;
  }

 private:
  /// Each thread has whole elements, or lanes share their terms.
  double time_without_tiles() const {
    const double term = 2 * of_global_load + 8;
    const std::int64_t elements = product_.rows * product_.columns;
    double least = std::numeric_limits<double>::infinity(), exchanges = 0;
    for (std::int64_t lanes = 1; lanes <= limits_.warp_lanes; lanes *= 2, exchanges += of_exchange)
      least = std::min(least, parts_in(elements, threads_ / lanes) *
                                  (parts_in(product_.terms, lanes) * term + exchanges));
    return cycles_of(least, threads_);
  }

  void try_parts(std::int64_t part_rows, std::int64_t part_columns, std::int64_t slices) {
    const bool by_warps = has_matrix_units(arithmetic_);
    const std::int64_t most = (by_warps ? threads_ / warp : threads_) / slices;
    for (std::int64_t along_rows = 1; along_rows <= most; along_rows *= 2)
      for (std::int64_t along_columns = 1; along_rows * along_columns <= most; along_columns *= 2) {
        TileChoice choice;
        choice.arithmetic = arithmetic_;
        choice.part_rows = part_rows;
        choice.part_columns = part_columns;
        choice.slices = slices;
        choice.stages = by_warps ? 3 : 2;
        choice.tile = {along_rows * part_rows * (by_warps ? 16 : 1),
                       along_columns * part_columns * (by_warps ? 8 : 1), by_warps ? 32 : 16};
        if (fits(choice)) take(choice);
      }
  }

  bool fits(TileChoice& choice) const {
    constexpr std::int64_t most_lines = 128;
    const ProductShape& tile = choice.tile;
    if (std::min(tile.rows, tile.columns) < least_lines ||
        std::max(tile.rows, tile.columns) > most_lines)
      return false;
    if ((left_.lines_together ? tile.rows : tile.terms) % left_.width != 0 ||
        (right_.lines_together ? tile.columns : tile.terms) % right_.width != 0)
      return false;
    if (vectors(left_, tile.rows, tile.terms) > most_vectors ||
        vectors(right_, tile.columns, tile.terms) > most_vectors ||
        registers(choice) > most_registers())
      return false;
    const std::int64_t bytes = element_bytes(arithmetic_);
    const std::int64_t tiles =
        choice.stages * (tile_bytes(left_, tile.rows, tile.terms, bytes) +
                         tile_bytes(right_, tile.columns, tile.terms, bytes));
    const std::int64_t sums = 4 * choice.slices * tile.rows * (tile.columns + 4);
    choice.shared_bytes = static_cast<std::uint64_t>(std::max(tiles, sums) + 15) / 16 * 16;
    return choice.shared_bytes <= limits_.shared_bytes;
  }

  void take(const TileChoice& choice) {
    const double time = time_of_tiles(choice);
    if (time >= least_time_ || limits_.refused.contains(tile_name(choice, left_, right_, threads_)))
      return;
    least_time_ = time;
    best_ = choice;
    best_->cycles = time;
  }

  double time_of_tiles(const TileChoice& choice) const {
    const ProductShape& tile = choice.tile;
    const double elements = static_cast<double>(tile.rows * tile.columns);
    const double results = elements / static_cast<double>(threads_) *
                           (of_result + static_cast<double>(choice.slices - 1) * of_shared_load);
    const double step = cycles_of(brought(left_, tile.rows, tile.terms) +
                                      brought(right_, tile.columns, tile.terms) + of_barrier,
                                  threads_) +
                        cycles_of(added(choice), workers(choice));
    const double steps = parts_in(product_.terms, tile.terms);
    return parts_in(product_.rows, tile.rows) * parts_in(product_.columns, tile.columns) *
           (steps * step + cycles_of(results, threads_) + of_first_step);
  }

  double brought(const FactorAccess& access, std::int64_t lines, std::int64_t terms) const {
    return vectors(access, lines, terms) * (access.is_copied ? of_copy : of_element);
  }

  /// The vectors that a thread brings in a step. It keeps a place for each.
  double vectors(const FactorAccess& access, std::int64_t lines, std::int64_t terms) const {
    return parts_in(lines * terms / access.width, threads_);
  }

  double most_registers() const {
    constexpr double of_multiprocessor = 65536, of_thread = 255;
    return std::min(of_thread, of_multiprocessor / static_cast<double>(threads_ * limits_.blocks));
  }

  /// The registers of a thread: its sums, what it multiplies, where it copies from, and the rest.
  double registers(const TileChoice& choice) const {
    const auto rows = static_cast<double>(choice.part_rows),
               columns = static_cast<double>(choice.part_columns);
    const double places = 3 * (vectors(left_, choice.tile.rows, choice.tile.terms) +
                               vectors(right_, choice.tile.columns, choice.tile.terms));
    constexpr double others = 48;
    if (has_matrix_units(arithmetic_)) {
      // Fragments of the terms that are multiplied, and of those that come next.
      const std::int64_t groups =
          choice.tile.terms / choice.slices / (element_bytes(arithmetic_) == 2 ? 16 : 8);
      const double held = groups > 1 ? 2 : 1;
      return 4 * rows * columns + held * (4 * rows + 2 * columns) + places + others;
    }
    const auto held = [](const FactorAccess& access, double lines) {
      return access.lines_together ? lines : 4 * lines;
    };
    return rows * columns + held(left_, rows) + held(right_, columns) + places + others;
  }

  std::int64_t workers(const TileChoice& choice) const {
    const std::int64_t parts =
        choice.tile.rows / choice.part_rows * (choice.tile.columns / choice.part_columns);
    return choice.slices * (has_matrix_units(arithmetic_) ? parts / (16 * 8) * warp : parts);
  }

  /// The cycles in which a thread or warp adds up one step.
  double added(const TileChoice& choice) const {
    const auto rows = static_cast<double>(choice.part_rows),
               columns = static_cast<double>(choice.part_columns),
               terms = static_cast<double>(choice.tile.terms / choice.slices);
    if (!has_matrix_units(arithmetic_))
      return terms * (rows * columns * limits_.multiply_add +
                      of_shared_load * (loads(left_, rows) + loads(right_, columns)));
    const bool is_half = element_bytes(arithmetic_) == 2;
    const double row_loads = is_half ? of_matrix_load : 4 * of_shared_load,
                 column_loads = is_half ? of_matrix_load : 2 * of_shared_load;
    return terms / (is_half ? 16 : 8) *
           (rows * columns * limits_.matrix_product + rows * row_loads + columns * column_loads);
  }

  /// Vectors that a thread loads for each term.
  static double loads(const FactorAccess& access, double lines) {
    constexpr double width = 4;
    return access.lines_together ? std::max(1.0, lines / width) : lines / width;
  }

  ProductShape product_;
  TileArithmetic arithmetic_;
  FactorAccess left_, right_;
  const TileLimits& limits_;
  std::int64_t threads_;
  double least_time_;
  std::optional<TileChoice> best_;
};

}  // namespace

double cycles_of(double instructions, std::int64_t threads) {
  return instructions * std::max(busy_warps, parts_in(threads, warp)) / schedulers;
}

std::string tile_name(const TileChoice& choice, const FactorAccess& left, const FactorAccess& right,
                      std::int64_t block_threads) {
  const auto access = [](const FactorAccess& factor_access) {
    return fmt::format("{} {}{}", factor_access.lines_together ? "lines" : "terms",
                       factor_access.width, factor_access.is_copied ? "" : " through registers");
  };
  constexpr std::array names = {"f32", "f16", "bf16", "tf32"};
  return fmt::format("{} {}x{}x{}, {} by {}, parts {}x{}, {} slices, {} stages, {} threads",
                     names[static_cast<std::size_t>(choice.arithmetic)], choice.tile.rows,
                     choice.tile.columns, choice.tile.terms, access(left), access(right),
                     choice.part_rows, choice.part_columns, choice.slices, choice.stages,
                     block_threads);
}

std::optional<TileChoice> choose_tiles(const ProductShape& product, TileArithmetic arithmetic,
                                       const FactorAccess& left, const FactorAccess& right,
                                       const TileLimits& limits) {
  return Chooser(product, arithmetic, left, right, limits).run();
}

}  // namespace lemma::backend
