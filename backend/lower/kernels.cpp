#include "backend/lower/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "backend/blocks/attention.h"
#include "backend/blocks/block_time.h"
#include "backend/blocks/resident_reads.h"
#include "backend/cases.h"
#include "backend/lower/stitched_operator.h"
#include "backend/lower/tile.h"
#include "backend/nest_algorithm.h"

namespace lemma::backend {

namespace {

using lowering::LoweredOutput;

constexpr std::int64_t most_tasks = 256;

std::int64_t parts_in(std::int64_t extent, std::int64_t part) { return (extent + part - 1) / part; }

/// How an operator may be cut.
struct Axes {
  std::vector<std::int64_t> extents;
  std::vector<bool> is_whole;  // axes along which elements are computed together
  std::int64_t line = 1;       // elements of the last axis that stay together

  std::int64_t most_parts(std::size_t axis, std::int64_t tasks) const {
    return is_whole[axis] ? 1 : std::min(tasks, extents[axis]);
  }
};

/// Cut along the first axes, so that parts lie together in memory.
Kernel kernel_for(const Axes& axes, std::int64_t tasks) {
  Kernel kernel;
  for (std::size_t axis = 0; axis < axes.extents.size(); ++axis) {
    const std::int64_t extent = axes.extents[axis], line = axes.line;
    const bool is_last = axis + 1 == axes.extents.size();
    std::int64_t part = parts_in(extent, axes.most_parts(axis, tasks));
    if (is_last) part = std::min(parts_in(part, line) * line, extent);
    kernel.extents.push_back(extent);
    kernel.parts.push_back(part);
    tasks = parts_in(tasks, parts_in(extent, part));
  }
  return kernel;
}

/// All ways to cut every axis into so many parts that there are about as many tasks as wanted.
class Cuts {
 public:
  Cuts(const Axes& axes, std::int64_t tasks) : axes_(axes), parts_(axes.extents) { cut(0, tasks); }
  const std::vector<Kernel>& all() const { return all_; }

 private:
  void cut(std::size_t axis, std::int64_t tasks) {
    if (axis == axes_.extents.size()) {
      if (tasks == 1) all_.push_back({axes_.extents, parts_});
      return;
    }
    const std::int64_t extent = axes_.extents[axis];
    const std::int64_t step = axis + 1 == axes_.extents.size() ? axes_.line : 1;
    for (std::int64_t count = 1; count <= axes_.most_parts(axis, tasks); ++count) {
      if (tasks % count != 0) continue;
      parts_[axis] = std::min(parts_in(parts_in(extent, count), step) * step, extent);
      cut(axis + 1, tasks / count);
    }
    parts_[axis] = extent;
  }

  const Axes& axes_;
  std::vector<std::int64_t> parts_;
  std::vector<Kernel> all_;
};

Axes axes_of(const LoweredOutput& nest, std::int64_t line, bool has_algorithms) {
  Axes axes;
  axes.line = line;
  for (const lowering::LoopVariable axis : nest.axes)
    axes.extents.push_back(nest.graph.extent(axis));
  axes.is_whole.resize(axes.extents.size(), false);
  if (const auto cases = find_cases(nest))
    for (const std::size_t axis : cases->axes) axes.is_whole[axis] = true;
  if (const auto algorithm = has_algorithms ? find_nest_algorithm(nest) : std::nullopt)
    for (std::size_t axis = 0; axis < nest.axes.size(); ++axis)
      if ((lowering::joint_axes(*algorithm) & lowering::set_of(nest.axes[axis])) != 0)
        axes.is_whole[axis] = true;
  return axes;
}

/// Of a kernel of its own only the rows are cut, which are the first axis where there are several.
Axes axes_of_rows(const TaskOperator& op, std::int64_t line) {
  Axes axes;
  axes.line = line;
  const LoweredOutput& nest = op.body.phases.front().nest;
  for (const lowering::LoopVariable axis : nest.axes) {
    axes.is_whole.push_back(op.own->rows == 1 || !axes.extents.empty());
    axes.extents.push_back(nest.graph.extent(axis));
  }
  return axes;
}

double bytes_of(const Region& region, const std::vector<Buffer>& buffers) {
  double elements = 1;
  for (const Region::Axis& axis : region.axes) elements *= static_cast<double>(axis.extent);
  return elements * static_cast<double>(byte_size(buffers[region.buffer].type));
}

/// What a task of a kernel takes, as the device's costs have it.
class TaskModel {
 public:
  TaskModel(const TaskOperator& op, const std::vector<Buffer>& buffers, const VirtualDevice& device,
            const Kernel& one_task)
      : op_(op), buffers_(buffers), device_(device) {
    if (device.multiprocessor) block_.emplace(op, device);
    if (device.multiprocessor) count_elements_read();
    operations_ = operation_count(op);
    const TaskAccess access = access_of(op, one_task, 0);
    for (const Region& read : access.reads)
      if (comes_from_memory(buffers[read.buffer]))
        memory_bytes_[read.buffer] =
            read_at_most(read.buffer, memory_bytes_[read.buffer] + bytes_of(read, buffers));
    for (const Region& write : access.writes)
      if (goes_to_memory(buffers[write.buffer]))
        memory_bytes_[write.buffer] += bytes_of(write, buffers);
  }

  /// The time of the largest task, without what it takes to begin one. `residents`: arguments that are in the
  /// unit's memory.
  double seconds(const Kernel& kernel, const BlockTime::Arguments& residents = {}) const {
    const auto is_resident = [&](BufferNumber buffer) {
      return std::any_of(residents.begin(), residents.end(),
                         [&](std::uint32_t argument) { return op_.arguments[argument] == buffer; });
    };
    const TaskAccess access = access_of(op_, kernel, 0);
    double bytes = 0, weights = 0;
    const auto tasks = static_cast<double>(kernel.task_count());
    for (const Region& write : access.writes) bytes += bytes_of(write, buffers_);
    for (const Region& read : access.reads)
      if (!is_resident(read.buffer))
        bytes += std::min(bytes_of(read, buffers_), read_at_most(read.buffer, infinite) / tasks);
    for (const auto& [buffer, of_buffer] : memory_bytes_)
      if (!is_resident(buffer)) weights += of_buffer;
    return std::max({computing_seconds(kernel, residents),
                     bytes * drawn(device_.seconds_per_byte, tasks),
                     weights / tasks * drawn(device_.seconds_per_weight_byte, tasks)}) +
           exchange_seconds(kernel);
  }

  /// The time in which a tile would receive all that a task reads; 0 for other units.
  double exchange_seconds(const Kernel& kernel) const {
    if (!device_.exchange) return 0;
    double bytes = 0;
    for (const Region& read : access_of(op_, kernel, 0).reads) bytes += bytes_of(read, buffers_);
    return bytes * device_.exchange->seconds_per_byte;
  }

  /// Whether what a task reads and writes leaves half of a tile's memory for what else is there. Other units have room.
  bool fits(const Kernel& kernel) const {
    if (!device_.exchange) return true;
    const TaskAccess access = access_of(op_, kernel, 0);
    double bytes = 0;
    for (const Region& read : access.reads) bytes += bytes_of(read, buffers_);
    for (const Region& write : access.writes) bytes += bytes_of(write, buffers_);
    return 2 * bytes <= static_cast<double>(device_.shared_bytes_per_unit);
  }

  /// What all tasks bring from memory takes where all units bring it.
  double memory_seconds() const {
    double bytes = 0;
    for (const auto& [buffer, of_buffer] : memory_bytes_) bytes += of_buffer;
    return device_.multiprocessor ? bytes * device_.seconds_per_weight_byte / device_.units : 0;
  }

  /// Adds what a kernel for a multiprocessor takes of its memory, and what it may read from there.
  void add_residents(Kernel& kernel) const {
    kernel.seconds_with_residents = kernel.seconds_per_task;
    if (!block_) return;
    const BlockMemory memory = block_->memory(kernel);
    kernel.shared_bytes = memory.slots + memory.tiles;
    // Tiles are copied from the device's memory.
    if (memory.tiles > 0 || !device_.multiprocessor->source.keeps_weights) return;
    kernel.residents = resident_layouts(op_, buffers_, access_of(op_, kernel, 0));
    BlockTime::Arguments arguments;
    for (const ResidentLayout& layout : kernel.residents) arguments.insert(layout.argument);
    kernel.seconds_with_residents = device_.seconds_per_task + seconds(kernel, arguments);
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  /// How often all elements of the nests read each buffer: tables of which rows are taken are larger than that.
  void count_elements_read() {
    for (const Phase& phase : op_.body.phases) {
      const lowering::TermGraph& graph = phase.nest.graph;
      lowering::VariableSet axes = 0;
      for (const lowering::LoopVariable axis : phase.nest.axes) axes |= lowering::set_of(axis);
      for (lowering::TermNumber id = 0; id < graph.size(); ++id) {
        const lowering::Term& term = graph.term(id);
        if (term.kind != ExpressionKind::read) continue;
        const std::uint32_t operand = phase.operands[term.input];
        if (operand == no_argument || operand >= op_.arguments.size()) continue;
        double count = 1;
        for (lowering::LoopVariable v = 0; v < graph.variable_count(); ++v)
          if (((term.depends | axes) & lowering::set_of(v)) != 0)
            count *= static_cast<double>(graph.extent(v));
        elements_read_[op_.arguments[operand]] += count;
      }
    }
  }

  /// Bytes that are read of a buffer, no more than `bytes`.
  double read_at_most(BufferNumber buffer, double bytes) const {
    const auto count = elements_read_.find(buffer);
    if (count == elements_read_.end()) return bytes;
    return std::min(bytes, count->second * static_cast<double>(byte_size(buffers_[buffer].type)));
  }

  /// Seconds for a byte of a task: the units share a bandwidth, of which one has more where others have no task, but not all
  /// that these leave, and at most twice its share (assumed, as the power 0.75).
  double drawn(double seconds_per_byte, double tasks) const {
    if (!device_.multiprocessor || tasks >= device_.units) return seconds_per_byte;
    constexpr double most_shares = 2, power = 0.75;
    return seconds_per_byte * std::max(1 / most_shares, std::pow(tasks / device_.units, power));
  }

  bool exceeds_cache(const Buffer& buffer) const {
    return device_.cache_bytes && static_cast<double>(buffer.bytes()) > *device_.cache_bytes;
  }
  bool comes_from_memory(const Buffer& buffer) const {
    return buffer.memory == Memory::weights || buffer.memory == Memory::input ||
           exceeds_cache(buffer);
  }
  bool goes_to_memory(const Buffer& buffer) const {
    return device_.cache_bytes && (buffer.memory == Memory::output || exceeds_cache(buffer));
  }

  double computing_seconds(const Kernel& kernel, const BlockTime::Arguments& residents) const {
    if (block_) return block_->seconds(kernel, residents);
    double part = 1;
    for (std::size_t axis = 0; axis < kernel.parts.size(); ++axis)
      part *= static_cast<double>(kernel.parts[axis]) / static_cast<double>(kernel.extents[axis]);
    return operations_ * part * device_.seconds_per_operation;
  }

  const TaskOperator& op_;
  const std::vector<Buffer>& buffers_;
  const VirtualDevice& device_;
  double operations_ = 0;
  std::map<BufferNumber, double> elements_read_;  // of GPUs
  std::map<BufferNumber, double> memory_bytes_;   // of all tasks, by what has them
  std::optional<BlockTime> block_;                // of GPUs
};

/// The cut whose tasks take the least time, if that is clearly less than that of the cut along the first axes.
Kernel best_cut(const Axes& axes, std::int64_t tasks, const TaskModel& model) {
  constexpr double clearly = 0.9;
  Kernel best = kernel_for(axes, tasks);
  double least = clearly * model.seconds(best);
  bool has_room = model.fits(best);
  const Cuts cuts(axes, tasks);
  for (const Kernel& kernel : cuts.all()) {
    const double seconds = model.seconds(kernel);
    const bool fits = model.fits(kernel);
    if (fits == has_room ? seconds >= least : has_room) continue;
    has_room = fits;
    best = kernel;
    least = seconds;
  }
  return best;
}

/// Numbers of tasks that are tried, ascending.
std::vector<std::int64_t> wanted_counts(const VirtualDevice& device) {
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count <= most_tasks; count *= 2) counts.push_back(count);
  if (!std::has_single_bit(device.units))
    for (std::int64_t rounds = 1; rounds <= 4; ++rounds) counts.push_back(rounds * device.units);
  std::sort(counts.begin(), counts.end());
  return counts;
}

/// Sorts kernels from the fewest tasks to the most, at most one for each number of tasks.
void sort_by_tasks(std::vector<Kernel>& kernels) {
  std::stable_sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) {
    return a.task_count() < b.task_count();
  });
  const auto same = std::unique(
      kernels.begin(), kernels.end(),
      [](const Kernel& a, const Kernel& b) { return a.task_count() == b.task_count(); });
  kernels.erase(same, kernels.end());
}

std::vector<Kernel> cuts_of(const Axes& axes, const TaskModel& model, const VirtualDevice& device) {
  std::vector<Kernel> kernels;
  for (const std::int64_t count : wanted_counts(device)) {
    kernels.push_back(best_cut(axes, count, model));
    if (count > 1 && model.fits(kernels.back()) &&
        model.seconds(kernels.back()) < device.least_task_seconds)
      break;
  }
  // Tiles run what has room; where nothing has, the most tasks.
  if (std::any_of(kernels.begin(), kernels.end(),
                  [&model](const Kernel& kernel) { return model.fits(kernel); }))
    std::erase_if(kernels, [&model](const Kernel& kernel) { return !model.fits(kernel); });
  else
    kernels = {kernels.back()};
  sort_by_tasks(kernels);
  return kernels;
}

/// Cuts of the grid whose tasks have room for what they keep; where there is none, one with a task for each point.
std::vector<Kernel> stitched_cuts(const TaskOperator& op, const std::vector<std::int64_t>& grid,
                                  const VirtualDevice& device) {
  std::int64_t points = 1;
  for (const std::int64_t extent : grid) points *= extent;
  std::vector<Kernel> kernels;
  const auto add = [&](std::int64_t tasks) {
    Kernel kernel = stitched_kernel(grid, tasks);
    const bool has_slots =
        !device.multiprocessor ||
        !find_attention(op, kernel.parts,
                        product_limits(*device.multiprocessor, device.shared_bytes_per_unit));
    if (kernel.task_count() == points || !has_slots ||
        shared_bytes(op, kernel) <= device.shared_bytes_per_unit)
      kernels.push_back(std::move(kernel));
  };
  for (const std::int64_t count : wanted_counts(device)) add(count);
  for (std::int64_t count = 2 * most_tasks; kernels.empty(); count *= 2) add(count);
  sort_by_tasks(kernels);
  return kernels;
}

/// The kernels without cuts that are known to be bad: of an operator that is not stitched, the first one stays
/// where all are.
std::vector<Kernel> without_refused(std::vector<Kernel> kernels, const TaskOperator& op,
                                    const VirtualDevice& device) {
  if (!device.multiprocessor || device.multiprocessor->source.refused_cuts_of.empty())
    return kernels;
  std::vector<Kernel> result;
  for (const Kernel& kernel : kernels)
    if (!device.multiprocessor->source.refused_cuts_of.contains({op.digest, parts_text(kernel)}))
      result.push_back(kernel);
  if (result.empty() && !op.is_stitched()) result.push_back(std::move(kernels.front()));
  return result;
}

}  // namespace

void add_kernels(TaskOperator& op, const std::vector<std::int64_t>& grid,
                 const std::vector<Buffer>& buffers, const VirtualDevice& device,
                 const KernelTimes* times) {
  const LoweredOutput& nest = op.body.phases.back().nest;
  // Tiles have no cache lines that several of them write: there it is what one instruction loads.
  constexpr std::uint64_t bytes_of_a_load = 16;
  const auto line = static_cast<std::int64_t>(std::max<std::uint64_t>(
      1, (device.exchange ? bytes_of_a_load : buffer_alignment) / byte_size(nest.type)));
  Axes axes{grid, std::vector<bool>(grid.size(), false), line};
  if (op.own)
    axes = axes_of_rows(op, line);
  else if (!op.is_stitched())
    axes = axes_of(nest, line, !device.multiprocessor);
  const TaskModel model(op, buffers, device, {axes.extents, axes.extents});
  std::vector<Kernel> kernels = without_refused(
      op.is_stitched() ? stitched_cuts(op, grid, device) : cuts_of(axes, model, device), op,
      device);
  // A cut without a time has the modelled one in the proportion of the last cut before it that has one. Otherwise an
  // operator's cuts would be compared by two measures, and what the model is wrong by would choose.
  double recorded_to_modelled = 1;
  for (Kernel& kernel : kernels) {
    kernel.exchange_seconds = model.exchange_seconds(kernel);
    const double seconds = model.seconds(kernel);
    if (!op.kernels.empty() && seconds < device.least_task_seconds) break;
    kernel.seconds_per_task = device.seconds_per_task + seconds;
    if (const auto recorded = times != nullptr ? times->find(op, kernel) : std::nullopt) {
      recorded_to_modelled = *recorded / kernel.seconds_per_task;
      kernel.seconds_per_task = *recorded;
      kernel.is_recorded = true;
    } else {
      kernel.seconds_per_task *= recorded_to_modelled;
    }
    kernel.memory_seconds = model.memory_seconds();
    model.add_residents(kernel);
    op.kernels.push_back(std::move(kernel));
  }
}

}  // namespace lemma::backend
