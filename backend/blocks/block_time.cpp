#include "backend/blocks/block_time.h"

#include <algorithm>
#include <bit>

#include "backend/blocks/shared_terms.h"

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

std::int64_t rounds(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

/// Places in the order of instructions for each element of a phase.
class ElementCost {
 public:
  /// `residents`: arguments that are in the memory of the block. `spread`: of the elements over lanes. None: each
  /// thread has whole elements of a tile, whose neighbours are not known.
  ElementCost(const TaskOperator& op, const Phase& phase, const Multiprocessor& unit,
              const BlockTime::Arguments& residents, const Spread* spread)
      : op_(op),
        phase_(phase),
        nest_(phase.nest),
        unit_(unit),
        residents_(residents),
        spread_(spread) {
    const LoweredOutput& nest = phase.nest;
    for (const LoopVariable axis : nest.axes) axes_ |= lowering::set_of(axis);
    if (lanes() == 1) return;
    for (TermNumber id = 0; id < nest.graph.size(); ++id)
      if (const Term& term = nest.graph.term(id); is_long_reduction(nest, term))
        shared_ |= lowering::set_of(term.bound.back());
  }

  /// The cycles with the loop around the elements, their indices and the store.
  double with_loop(const Kernel& kernel) const {
    double indices = 0;
    for (std::size_t axis = 1; axis < nest_.axes.size(); ++axis) indices += of_index(axis, kernel);
    return run() + of_loop + indices + of_access(phase_.result) +
           (is_in_block(op_, phase_.result) ? 0 : of_lines(lines_of_store(nest_, *spread_)));
  }

  /// `known`: a term that is computed elsewhere, and what is below it.
  double run(std::optional<TermNumber> known = std::nullopt) const {
    std::vector<bool> is_used(nest_.graph.size(), false);
    is_used[nest_.root] = true;
    double sum = 0;
    for (TermNumber id = nest_.root + 1; id-- > 0;) {
      if (!is_used[id] || (known && id == *known)) continue;
      const Term& term = nest_.graph.term(id);
      for (const TermNumber operand : term.operands) is_used[operand] = true;
      sum += of_term(term);
    }
    return sum;
  }

 private:
  /// The cost of the quotient and the remainder of an element's number by the length of an axis, in instructions of
  /// PTX. nvcc knows the length but for axes whose parts differ, and for cut axes of phases, which are functions with
  /// bounds for parameters. A point that is the work of a warp has no length.
  double of_index(std::size_t axis, const Kernel& kernel) const {
    constexpr double by_shift = 2, by_multiplication = 5, by_division = 20;
    const std::int64_t extent = nest_.graph.extent(nest_.axes[axis]);
    const std::int64_t part = axis < kernel.parts.size() ? kernel.parts[axis] : extent;
    const bool is_of_point = op_.is_stitched() && op_.body.stitching == Stitching::warp;
    if (axis < kernel.parts.size() && is_of_point) return 0;
    if (part < extent && (op_.is_stitched() || extent % part != 0)) return by_division;
    if (part == 1) return 0;
    return std::has_single_bit(static_cast<std::uint64_t>(part)) ? by_shift : by_multiplication;
  }

  double times(lowering::VariableSet variables) const {
    double result = 1;
    for (LoopVariable v = 0; v < nest_.graph.variable_count(); ++v) {
      if ((variables & ~axes_ & lowering::set_of(v)) == 0) continue;
      const std::int64_t extent = nest_.graph.extent(v);
      const bool is_shared = (shared_ & lowering::set_of(v)) != 0;
      result *= static_cast<double>(is_shared ? rounds(extent, lanes()) : extent);
    }
    return result;
  }

  double of_term(const Term& term) const {
    if (!is_reduction(term.kind)) return times(term.depends) * of_operation(term);
    const double steps = times(term.depends | nest_.graph.term(term.operands[0]).depends);
    const int exchanges =
        is_long_reduction(nest_, term) ? std::countr_zero(static_cast<std::uint64_t>(lanes())) : 0;
    return steps * (of_loop + of_arithmetic(term)) + times(term.depends) * exchanges * of_exchange;
  }

  double of_operation(const Term& term) const {
    constexpr double of_function = 20, of_division = 10;
    switch (term.kind) {
      case Kind::integer_constant:
      case Kind::real_constant:
      case Kind::extent: return 0;
      case Kind::read: return of_read(term);
      case Kind::function:
      case Kind::power: return of_function * of_arithmetic(term);
      case Kind::divide:
      case Kind::floor_divide:
      case Kind::floor_modulo:
      case Kind::truncated_modulo: return of_division * of_arithmetic(term);
      default: return of_arithmetic(term);
    }
  }

  double of_read(const Term& read) const {
    const std::uint32_t operand = phase_.operands[read.input];
    if (is_in_block(op_, operand, residents_) || !spread_) return of_access(operand);
    return of_access(operand) + of_lines(lines_of_read(nest_, read, *spread_));
  }

  /// One line is part of the access.
  static double of_lines(std::int64_t lines) {
    return of_line * static_cast<double>(std::max<std::int64_t>(1, lines) - 1);
  }

  double of_access(std::uint32_t operand) const {
    return is_in_block(op_, operand, residents_) ? of_shared_load : of_global_load;
  }

  std::int64_t lanes() const { return spread_ ? spread_->lanes : 1; }

  double of_arithmetic(const Term& term) const {
    constexpr double places = 128;  // four schedulers of 32 lanes
    switch (term.lanes) {
      case lowering::LaneKind::f32: return places / unit_.f32_lanes;
      case lowering::LaneKind::f64: return places / unit_.f64_lanes;
      default: return 1;
    }
  }

  const TaskOperator& op_;
  const Phase& phase_;
  const LoweredOutput& nest_;
  const Multiprocessor& unit_;
  BlockTime::Arguments residents_;
  const Spread* spread_;
  lowering::VariableSet axes_ = 0, shared_ = 0;
};

/// The cycles of elements spread over the threads of a group.
double spread_cycles(const TaskOperator& op, const Kernel& kernel, const Phase& phase,
                     const Multiprocessor& unit, const BlockTime::Arguments& residents,
                     std::int64_t elements, std::vector<std::int64_t> least_parts) {
  const std::int64_t threads = unit.source.block_threads;
  const Spread spread =
      spread_of(phase.nest, inputs_in_block(op, phase, residents), std::move(least_parts), threads);
  const double element_cycles = ElementCost(op, phase, unit, residents, &spread).with_loop(kernel);
  const std::int64_t turns = rounds(elements, threads / spread.lanes);
  return cycles_of(static_cast<double>(turns) * element_cycles,
                   std::min(threads, elements * spread.lanes));
}

std::int64_t product_of(const std::vector<std::int64_t>& factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) result *= factor;
  return result;
}

/// Elements that the smallest task has of a nest, by axis.
std::vector<std::int64_t> least_parts(const Kernel& kernel, const LoweredOutput& nest) {
  std::vector<std::int64_t> parts = parts_of(kernel, nest);
  for (std::size_t axis = 0; axis < std::min(parts.size(), kernel.parts.size()); ++axis)
    if (const std::int64_t rest = kernel.extents[axis] % parts[axis]; rest != 0) parts[axis] = rest;
  return parts;
}

/// Bytes of an element where it is copied from; 0 in the memory of the block.
double source_bytes(const LoweredOutput& nest, const Factor& factor) {
  constexpr double of_computed = 4;
  if (!factor.is_read) return of_computed;
  const Term& read = nest.graph.term(factor.term);
  return factor.is_in_block ? 0
                            : static_cast<double>(byte_size(nest.graph.inputs()[read.input].type));
}

PhaseTime tiled_time(const TaskOperator& op, const Phase& phase,
                     const std::vector<std::int64_t>& parts, const TiledProduct& product,
                     const Multiprocessor& unit) {
  const LoweredOutput& nest = phase.nest;
  const auto count = [&parts](const std::vector<std::size_t>& axes) {
    std::int64_t result = 1;
    for (const std::size_t axis : axes) result *= parts[axis];
    return result;
  };
  const std::int64_t rows = count(product.left.lines), columns = count(product.right.lines);
  const auto batches = static_cast<double>(count(product.batches));
  double terms = 1;
  for (const LoopVariable v : nest.graph.term(product.sum).bound)
    terms *= static_cast<double>(nest.graph.extent(v));
  const ProductShape& tile = product.tiles.tile;
  // Lines are brought again for each tile of the other factor.
  const auto brought = [](std::int64_t lines, std::int64_t others, std::int64_t tile_lines) {
    return static_cast<double>(lines * rounds(others, tile_lines));
  };
  const double bytes = source_bytes(nest, product.left) * brought(rows, columns, tile.columns) +
                       source_bytes(nest, product.right) * brought(columns, rows, tile.rows);
  const std::int64_t threads = unit.source.block_threads;
  const double after = ElementCost(op, phase, unit, {}, nullptr).run(product.sum);
  const auto turns = static_cast<double>(rounds(rows * columns, threads));
  return {batches * (product.tiles.cycles + cycles_of(turns * after, threads)),
          batches * terms * bytes};
}

}  // namespace

BlockTime::BlockTime(const TaskOperator& op, const VirtualDevice& device)
    : op_(op), device_(device) {
  // The block keeps the addresses of a task's tensors.
  const std::uint64_t addresses = op.arguments.size() * sizeof(void*);
  limits_ = product_limits(*device.multiprocessor, device.shared_bytes_per_unit > addresses
                                                       ? device.shared_bytes_per_unit - addresses
                                                       : 0);
}

PhaseTime BlockTime::of_phase(const Kernel& kernel, const Phase& phase,
                              const Arguments& residents) const {
  const Multiprocessor& unit = *device_.multiprocessor;
  const std::vector<std::int64_t> parts = parts_of(kernel, phase.nest);
  if (const auto product = tiled_phase(op_, kernel, phase, limits_))
    return tiled_time(op_, phase, parts, *product, unit);
  return {spread_cycles(op_, kernel, phase, unit, residents, product_of(parts),
                        least_parts(kernel, phase.nest)),
          0};
}

/// Each warp goes through its points, all phases for one before the next.
double BlockTime::warp_cycles(const Kernel& kernel, const Arguments& residents) const {
  const Multiprocessor& unit = *device_.multiprocessor;
  Kernel point = kernel;
  std::fill(point.parts.begin(), point.parts.end(), 1);
  double instructions = 0;
  for (const Phase& phase : op_.body.phases) {
    const LoweredOutput& nest = phase.nest;
    const Spread spread = spread_of(nest, inputs_in_block(op_, phase, residents),
                                    parts_of(point, nest), cuda_warp_size);
    const std::int64_t turns = rounds(spread.elements(), cuda_warp_size / spread.lanes);
    instructions += static_cast<double>(turns) *
                        ElementCost(op_, phase, unit, residents, &spread).with_loop(point) +
                    (phase.has_barrier ? of_barrier : 0);
  }
  const std::int64_t warps = unit.source.block_threads / cuda_warp_size;
  const std::int64_t points = kernel.most_points();
  return cycles_of(static_cast<double>(rounds(points, warps)) * instructions,
                   std::min(points, warps) * cuda_warp_size);
}

double BlockTime::seconds(const Kernel& kernel, const Arguments& residents) const {
  const double cycles_per_second = device_.multiprocessor->cycles_per_second;
  if (op_.is_stitched() && op_.body.stitching == Stitching::warp)
    return warp_cycles(kernel, residents) / cycles_per_second;
  double seconds = 0;
  for (const Phase& phase : op_.body.phases) {
    const PhaseTime time = of_phase(kernel, phase, residents);
    const double cycles =
        time.cycles + (phase.has_barrier
                           ? cycles_of(of_barrier, device_.multiprocessor->source.block_threads)
                           : 0);
    seconds += std::max(cycles / cycles_per_second, time.tile_bytes * device_.seconds_per_byte);
  }
  return seconds;
}

}  // namespace lemma::backend
