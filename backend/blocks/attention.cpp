#include "backend/blocks/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "backend/blocks/phase_tiles.h"
#include "backend/blocks/shared_terms.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

constexpr std::size_t phase_count = 6;

/// The row-major place of an element with these variables for its axes.
Linear place_of(const LoweredOutput& nest, const std::vector<LoopVariable>& variables) {
  Linear place;
  for (const LoopVariable v : variables)
    place = lowering::combine(lowering::scale(place, nest.graph.extent(v)), Linear::atom(v));
  return place;
}

TermNumber without_casts(const LoweredOutput& nest, TermNumber id) {
  while (nest.graph.term(id).kind == Kind::cast) id = nest.graph.term(id).operands[0];
  return id;
}

class AttentionFinder {
 public:
  AttentionFinder(const TaskOperator& op, const std::vector<std::int64_t>& parts,
                  const ProductLimits& limits)
      : op_(op), parts_(parts), limits_(limits) {}

  std::optional<Attention> run() {
    if (op_.body.phases.size() != phase_count || op_.body.stitching != Stitching::block ||
        op_.result_count != 1 || !is_softmax() || !find_products())
      return std::nullopt;
    for (const std::int64_t rows : tile_rows()) {
      attention_.tile_rows = rows;
      attention_.shared_bytes = shared_bytes();
      if (attention_.shared_bytes > limits_.tiles.shared_bytes) continue;
      attention_.cycles = cycles();
      return attention_;
    }
    return std::nullopt;
  }

 private:
  const Phase& phase(std::size_t number) const { return op_.body.phases[number]; }
  const LoweredOutput& nest(std::size_t number) const { return phase(number).nest; }

  /// The variables of the grid in a phase's nest, and one more.
  std::vector<LoopVariable> variables(std::size_t number, std::optional<LoopVariable> last) const {
    std::vector<LoopVariable> result(
        nest(number).axes.begin(),
        nest(number).axes.begin() + static_cast<std::ptrdiff_t>(parts_.size()));
    if (last) result.push_back(*last);
    return result;
  }

  /// Whether a term reads what an earlier phase made, at the element with these variables.
  bool reads(std::size_t number, TermNumber id, std::size_t made_by,
             std::optional<LoopVariable> last) const {
    const LoweredOutput& reader = nest(number);
    const Term& read = reader.graph.term(without_casts(reader, id));
    return read.kind == Kind::read && phase(number).operands[read.input] == phase(made_by).result &&
           reader.graph.address(read) == place_of(reader, variables(number, last));
  }

  /// Whether the axes of a phase are those of the grid, and perhaps one more.
  bool has_axes(std::size_t number, std::size_t more) const {
    return nest(number).axes.size() == parts_.size() + more;
  }

  bool is_row_reduction(std::size_t number, Kind kind, std::size_t made_by) const {
    const Term& root = nest(number).graph.term(without_casts(nest(number), nest(number).root));
    return has_axes(number, 0) && root.kind == kind && root.bound.size() == 1 &&
           nest(number).graph.extent(root.bound.front()) == columns() &&
           reads(number, root.operands[0], made_by, root.bound.front());
  }

  /// The two operands of an operation in a phase of elements; nothing for another one.
  std::optional<std::pair<TermNumber, TermNumber>> operands(std::size_t number, TermNumber id,
                                                            Kind kind) const {
    const Term& term = nest(number).graph.term(without_casts(nest(number), id));
    if (!has_axes(number, 1) || term.kind != kind) return std::nullopt;
    return std::pair(term.operands[0], term.operands[1]);
  }

  std::int64_t columns() const { return nest(0).graph.extent(nest(0).axes.back()); }

  bool is_softmax() const {
    if (parts_.empty() || !has_axes(0, 1) || !has_axes(5, 1)) return false;
    for (std::size_t number = 0; number + 1 < phase_count; ++number)
      if (phase(number).result < op_.arguments.size()) return false;
    if (!is_row_reduction(1, Kind::maximum_over, 0) || !is_row_reduction(3, Kind::sum, 2))
      return false;
    const Term& exponential = nest(2).graph.term(without_casts(nest(2), nest(2).root));
    if (exponential.kind != Kind::function || exponential.function != ScalarFunction::exp)
      return false;
    const auto less = operands(2, exponential.operands[0], Kind::subtract),
               shares = operands(4, nest(4).root, Kind::divide);
    return less && shares && reads(2, less->first, 0, nest(2).axes.back()) &&
           reads(2, less->second, 1, std::nullopt) &&
           reads(4, shares->first, 2, nest(4).axes.back()) &&
           reads(4, shares->second, 3, std::nullopt);
  }

  std::optional<TiledProduct> product(std::size_t number) const {
    ProductLimits of_phase = limits_;
    of_phase.is_in_block = inputs_in_block(op_, phase(number));
    std::vector<std::int64_t> parts = parts_;
    parts.push_back(nest(number).graph.extent(nest(number).axes.back()));
    return find_tiled_product(nest(number), parts, of_phase);
  }

  /// Whether a factor is read from the device's memory, 16 bytes at a time.
  bool is_wide(const Factor& factor) const {
    return factor.is_read && factor.access.is_copied && factor.access.width * element_bytes() == 16;
  }

  std::int64_t element_bytes() const {
    return attention_.arithmetic == TileArithmetic::f16 ||
                   attention_.arithmetic == TileArithmetic::bf16
               ? 2
               : 4;
  }

  bool find_products() {
    const auto scores = product(0), results = product(5);
    if (!scores || !results) return false;
    attention_.scores = *scores;
    attention_.results = *results;
    attention_.arithmetic = scores->tiles.arithmetic;
    const std::vector<std::size_t> last = {parts_.size()};
    const LoweredOutput &first = nest(0), &second = nest(5);
    const Term &sum = first.graph.term(scores->sum), &total = second.graph.term(results->sum);
    attention_.terms = first.graph.extent(sum.bound.back());
    attention_.columns = columns();
    attention_.values = second.graph.extent(second.axes.back());
    constexpr std::int64_t group = 16, most = 128;
    const auto fits = [](std::int64_t count) { return count % group == 0 && count <= most; };
    // Lanes read 1, 2 or 4 values side by side, once or twice.
    if (attention_.is_in_lanes() &&
        !std::has_single_bit(static_cast<std::uint64_t>(attention_.values)))
      return false;
    return results->tiles.arithmetic == attention_.arithmetic && sum.bound.size() == 1 &&
           total.bound.size() == 1 && scores->left.lines == results->left.lines &&
           scores->batches == results->batches && scores->right.lines == last &&
           results->right.lines == last && is_wide(scores->left) &&
           !scores->left.access.lines_together && is_wide(scores->right) &&
           is_wide(results->right) && fits(attention_.terms) && fits(attention_.values) &&
           reads(5, results->left.term, 4, total.bound.front());
  }

  /// The first that has room is taken.
  std::vector<std::int64_t> tile_rows() const {
    const std::int64_t threads = limits_.tiles.block_threads;
    if (!attention_.is_in_lanes()) return {limits_.tiles.warps() * 16};
    constexpr std::int64_t lanes = 16;
    return {threads / lanes * 8, threads / lanes * 4};
  }

  /// As FactorTile of parts/tiled_products.cuh.in has it.
  std::int64_t tile_bytes(bool lines_together, std::int64_t lines, std::int64_t terms) const {
    const std::int64_t bytes = element_bytes();
    const std::int64_t padding = (lines_together && bytes == 4 ? 32 : 16) / bytes;
    return bytes * (lines_together ? (lines + padding) * terms : (terms + padding) * lines);
  }

  std::uint64_t shared_bytes() const {
    const std::int64_t shares =
        attention_.is_in_lanes() ? tile_bytes(false, attention_.tile_rows, attention_step) : 0;
    return static_cast<std::uint64_t>(
        tile_bytes(false, attention_.tile_rows, attention_.terms) + shares +
        2 * (tile_bytes(attention_.scores.right.access.lines_together, attention_step,
                        attention_.terms) +
             tile_bytes(attention_.results.right.access.lines_together, attention_.values,
                        attention_step)));
  }

  double matrix_instructions(double terms, double values) const {
    constexpr double of_half_load = 10;
    const bool is_half = element_bytes() == 2;
    const double load = is_half ? of_half_load : 2 * of_shared_load;
    return static_cast<double>(attention_step) * (terms + values) / (8.0 * (is_half ? 16 : 8)) *
           (limits_.tiles.matrix_product + load);
  }

  /// The same of a lane: products of its rows with its columns, and with its values, and loads of four terms of each.
  double lane_instructions(double terms, double values) const {
    constexpr double lanes = 16, together = 4;
    const auto step = static_cast<double>(attention_step);
    const double rows = static_cast<double>(attention_.tile_rows) * lanes /
                        static_cast<double>(limits_.tiles.block_threads);
    const auto products = [&](double count, double columns) {
      return count * (rows * columns * limits_.tiles.multiply_add +
                      (rows + columns) / together * of_shared_load);
    };
    return products(terms, step / lanes) + products(step, values / lanes);
  }

  /// Instructions of a warp for its rows and one step, for all tiles of rows.
  double cycles() const {
    constexpr double of_score = 22, of_copy = 8, of_total = 2, lanes = 32;
    const auto terms = static_cast<double>(attention_.terms),
               values = static_cast<double>(attention_.values),
               step = static_cast<double>(attention_step),
               threads = static_cast<double>(limits_.tiles.block_threads);
    const auto tile_rows = static_cast<double>(attention_.tile_rows);
    double rows = 1, batches = 1;
    for (const std::size_t axis : attention_.scores.left.lines)
      rows *= static_cast<double>(parts_[axis]);
    for (const std::size_t axis : attention_.scores.batches)
      batches *= static_cast<double>(parts_[axis]);
    const double copied =
        step * (terms + values) * static_cast<double>(element_bytes()) / (16 * threads);
    const double warp_rows = tile_rows * lanes / threads;
    const double instructions = (attention_.is_in_lanes() ? lane_instructions(terms, values)
                                                          : matrix_instructions(terms, values)) +
                                warp_rows * step / lanes * of_score +
                                warp_rows * values / lanes * of_total + copied * of_copy +
                                of_barrier;
    const double tiles = std::ceil(rows / tile_rows),
                 steps = std::ceil(static_cast<double>(attention_.columns) / step);
    return batches * tiles * cycles_of((steps + 1) * instructions, limits_.tiles.block_threads);
  }

  const TaskOperator& op_;
  const std::vector<std::int64_t>& parts_;
  const ProductLimits& limits_;
  Attention attention_;
};

}  // namespace

std::optional<Attention> find_attention(const TaskOperator& op,
                                        const std::vector<std::int64_t>& parts,
                                        const ProductLimits& limits) {
  return AttentionFinder(op, parts, limits).run();
}

}  // namespace lemma::backend
