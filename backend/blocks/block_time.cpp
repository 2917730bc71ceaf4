#include "backend/blocks/block_time.h"

#include <algorithm>
#include <bit>

#include "backend/blocks/attention.h"
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
  /// thread has whole elements of a tile, whose neighbours are not known. `batch`: elements that a thread computes together.
  ElementCost(const TaskOperator& op, const Phase& phase, const Multiprocessor& unit,
              const BlockTime::Arguments& residents, const Spread* spread, ElementBatch batch = {})
      : op_(op),
        phase_(phase),
        nest_(phase.nest),
        unit_(unit),
        residents_(residents),
        spread_(spread),
        batch_(batch) {
    const LoweredOutput& nest = phase.nest;
    for (const LoopVariable axis : nest.axes) axes_ |= lowering::set_of(axis);
    if (lanes() == 1) return;
    terms_of_lanes_ = terms_of_lanes(nest, inputs_in_block(op, phase, residents), lanes());
    for (TermNumber id = 0; id < nest.graph.size(); ++id)
      if (const Term& term = nest.graph.term(id); is_long_reduction(nest, term))
        shared_ |= lowering::set_of(term.bound.back());
  }

  /// The cycles with the loop around the elements, their indices and the store.
  double with_loop(const Kernel& kernel) const {
    double indices = 0;
    for (std::size_t axis = 1; axis < nest_.axes.size(); ++axis) indices += of_index(axis, kernel);
    const double store =
        is_in_block(op_, phase_.result)
            ? of_access(phase_.result)
            : (of_access(phase_.result) + of_lines(lines_of_store(nest_, *spread_))) /
                  static_cast<double>(batch_.together);
    return run() + (of_loop + indices) / static_cast<double>(batch_.together) + store;
  }

  /// How often a thread waits for the device's memory for each of its elements: for what it has begun to read at a time. What all
  /// elements read is in the near cache but for the first.
  double waits_for_memory() const {
    double waits = 0;
    for (TermNumber id = 0; id < nest_.graph.size(); ++id) {
      const Term& term = nest_.graph.term(id);
      if (term.kind != Kind::read || (term.depends & axes_) == 0 ||
          is_in_block(op_, phase_.operands[term.input], residents_))
        continue;
      waits = std::max(waits, times(term.depends) / in_flight(term));
    }
    return waits / static_cast<double>(batch_.elements());
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
      sum += of_term(id);
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

  /// How the terms of a reduction that a read depends on are taken; nothing if one at a time.
  const LaneTerms* lane_terms(const Term& read) const {
    for (const auto& [reduction, terms] : terms_of_lanes_)
      if ((read.depends & lowering::set_of(nest_.graph.term(reduction).bound.back())) != 0)
        return &terms;
    return nullptr;
  }

  static constexpr double unrolled_by_nvcc = 4;

  /// Steps of the loops around a read that are begun before the first one is used. nvcc unrolls loops four times.
  double in_flight(const Term& read) const {
    if (const LaneTerms* const terms = lane_terms(read))
      return static_cast<double>(terms->in_flight());
    return (read.depends & ~axes_) != 0 ? std::min(unrolled_by_nvcc, times(read.depends)) : 1;
  }

  double of_term(TermNumber id) const {
    const Term& term = nest_.graph.term(id);
    if (!is_reduction(term.kind)) return times(term.depends) * of_operation(term);
    const double steps = times(term.depends | nest_.graph.term(term.operands[0]).depends);
    const int exchanges =
        is_long_reduction(nest_, term) ? std::countr_zero(static_cast<std::uint64_t>(lanes())) : 0;
    const auto known = terms_of_lanes_.find(id);
    const double unrolled =
        known != terms_of_lanes_.end() ? static_cast<double>(known->second.in_flight())
        : lanes() > 1 && (shared_ & lowering::set_of(term.bound.back())) != 0 ? unrolled_by_nvcc
                                                                              : 1;
    return steps * (of_loop / unrolled + of_arithmetic(term)) +
           times(term.depends) * exchanges * of_exchange;
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
    // What all elements read is in the near cache, which is as fast as shared memory.
    if (lanes() > 1 && (read.depends & shared_) != 0 &&
        (is_in_block(op_, operand, residents_) || (read.depends & axes_) == 0))
      return of_shared_term;
    if (is_in_block(op_, operand, residents_) || !spread_) return of_access(operand);
    const LaneTerms* const terms = lane_terms(read);
    const double access =
        of_access(operand) +
        of_lines(lines_of_read(nest_, read, *spread_, terms == nullptr ? 1 : terms->together));
    if (terms != nullptr && terms->inputs.contains(read.input))
      return access / static_cast<double>(terms->together);
    const bool is_side_by_side =
        !nest_.axes.empty() && nest_.graph.address(read).coefficient(nest_.axes.back()) == 1;
    return is_side_by_side ? access / static_cast<double>(batch_.together) : access;
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
  ElementBatch batch_;
  TermsOfLanes terms_of_lanes_;
  lowering::VariableSet axes_ = 0, shared_ = 0;
};

/// Cycles from a load to its use, where it comes from the device's memory: 479 on an H100 (Luo et al., Benchmarking and
/// dissecting the Nvidia Hopper GPU architecture, 2024, table of latencies).
constexpr double of_latency = 479;

/// What one thread of a group takes for its elements, with what waits for memory.
struct ThreadTime {
  double instructions = 0, waiting_cycles = 0;
  std::int64_t threads = 1;  // that have elements
};

/// Of elements spread over the threads of a group.
ThreadTime thread_time(const TaskOperator& op, const Kernel& kernel, const Phase& phase,
                       const Multiprocessor& unit, const BlockTime::Arguments& residents,
                       std::int64_t elements, std::vector<std::int64_t> least_parts,
                       std::int64_t threads) {
  const Spread spread = spread_of(phase.nest, inputs_in_block(op, phase, residents),
                                  std::move(least_parts), threads, unit.source.warp_lanes());
  ElementBatch batch;
  if (spread.lanes == 1 && !spread.lengths.empty())
    batch = batch_of(phase.nest, spread.lengths.back(), spread.elements(), threads);
  const ElementCost cost(op, phase, unit, residents, &spread, batch);
  const std::int64_t turns = rounds(elements, threads / spread.lanes);
  const std::int64_t batches = rounds(turns, batch.elements());
  return {static_cast<double>(turns) * cost.with_loop(kernel),
          static_cast<double>(batches * batch.elements()) * cost.waits_for_memory() * of_latency,
          std::min(threads, elements * spread.lanes)};
}

/// The cycles of elements spread over the threads of a group.
double spread_cycles(const TaskOperator& op, const Kernel& kernel, const Phase& phase,
                     const Multiprocessor& unit, const BlockTime::Arguments& residents,
                     std::int64_t elements, std::vector<std::int64_t> least_parts) {
  const ThreadTime time = thread_time(op, kernel, phase, unit, residents, elements,
                                      std::move(least_parts), unit.source.block_threads);
  return std::max(cycles_of(time.instructions, time.threads), time.waiting_cycles);
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
  const std::int64_t lanes = unit.source.warp_lanes();
  Kernel point = kernel;
  std::fill(point.parts.begin(), point.parts.end(), 1);
  double instructions = 0, waiting_cycles = 0;
  for (const Phase& phase : op_.body.phases) {
    const std::vector<std::int64_t> parts = parts_of(point, phase.nest);
    const ThreadTime time =
        thread_time(op_, point, phase, unit, residents, product_of(parts), parts, lanes);
    instructions += time.instructions + (phase.has_barrier ? of_barrier : 0);
    waiting_cycles += time.waiting_cycles;
  }
  const std::int64_t warps = unit.source.block_threads / lanes;
  const std::int64_t points = kernel.most_points();
  const auto turns = static_cast<double>(rounds(points, warps));
  return std::max(cycles_of(turns * instructions, std::min(points, warps) * lanes),
                  turns * waiting_cycles);
}

double BlockTime::seconds(const Kernel& kernel, const Arguments& residents) const {
  const double cycles_per_second = device_.multiprocessor->cycles_per_second;
  if (op_.is_stitched() && op_.body.stitching == Stitching::warp)
    return warp_cycles(kernel, residents) / cycles_per_second;
  if (const auto attention = find_attention(op_, kernel.parts, limits_))
    return attention->cycles / cycles_per_second;
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
