#include "backend_cuda/emit_cuda/cuda_phases.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend_cuda/emit/source_types.h"
#include "backend_cuda/emit_cuda/spread_nest.h"

namespace lemma::backend {

namespace {

constexpr std::uint64_t slot_alignment = 16;

/// The number of the first point in the grid.
std::string first_point_of(const Kernel& kernel, const std::vector<LoopBounds>& grid) {
  std::string text = "0";
  for (std::size_t axis = 0; axis < kernel.extents.size(); ++axis)
    text = text == "0"
               ? grid[axis].first
               : fmt::format("({}) * {} + {}", text, kernel.extents[axis], grid[axis].first);
  return text;
}

/// What a device function has as parameters, and what it is called with.
class DeviceParameters {
 public:
  void add(const std::string& declaration, const std::string& argument) {
    declarations_ += declaration + ", ";
    arguments_ += argument + ", ";
  }

  /// The elements of an argument of the operator, or of the task's part of a shared buffer, as `name`.
  Result<void> add_tensor(const TaskOperator& op, const SlotLayout& slots, std::uint32_t argument,
                          DataType type, const std::string& name, bool is_read) {
    LEMMA_ASSIGN_OR_RETURN(const std::string element, stored_type(type));
    const std::string pointed = (is_read ? "const " : "") + element;
    if (argument < op.arguments.size()) {
      add(fmt::format("{}* {}", pointed, name),
          fmt::format("static_cast<{}*>(arguments[{}])", pointed, argument));
      return {};
    }
    const SharedBuffer& shared = op.body.shared[argument - op.arguments.size()];
    add(fmt::format("Window<{}> {}", pointed, name),
        fmt::format("Window<{0}>{{reinterpret_cast<{0}*>(slots + {1}), first_point * {2}}}",
                    pointed, slots.offsets.at(shared.slot), shared.elements_per_point));
    return {};
  }

  /// Bounds that are not the same for all tasks; the function's names for them are put into `bounds`.
  void add_bounds(const std::vector<LoopBounds>& grid, bool by_points,
                  std::vector<LoopBounds>& bounds) {
    for (std::size_t axis = 0; axis < grid.size(); ++axis) {
      bounds[axis] = grid[axis];
      if (bounds[axis].least == bounds[axis].extent && !by_points) continue;
      const std::string first = fmt::format("first{}", axis), end = fmt::format("end{}", axis);
      add("std::int64_t " + first, grid[axis].first);
      if (!by_points) add("std::int64_t " + end, grid[axis].end);
      bounds[axis].first = first;
      bounds[axis].end = by_points ? first + " + 1" : end;
    }
  }

  const std::string& declarations() const { return declarations_; }
  const std::string& arguments() const { return arguments_; }

 private:
  std::string declarations_, arguments_;
};

/// The beginning of the loop over the points of a task; the bounds of the grid's axes become those of one point.
std::string points_loop(const SlotLayout& slots, std::vector<LoopBounds>& grid) {
  std::string text;
  text += "  // A point of the grid is the work of one warp.\n";
  text += "  const Threads lanes = {threads.rank % warp_size, warp_size};\n";
  if (slots.bytes > 0)
    text += fmt::format("  slots += threads.rank / warp_size * {};\n", slots.bytes);
  std::string count;
  for (const LoopBounds& axis : grid) count += (count.empty() ? "" : " * ") + length_text(axis);
  text += fmt::format(
      "  const std::int64_t points = {};\n"
      "  for (std::int64_t point = threads.rank / warp_size; point < points;\n"
      "       point += threads.count / warp_size) {{\n",
      count.empty() ? "1" : count);
  const std::string rest = grid.size() > 1 ? "rest" : "point";
  if (grid.size() > 1) text += "    std::int64_t rest = point;\n";
  for (std::size_t axis = grid.size(); axis-- > 0;) {
    const std::string length = length_text(grid[axis]);
    text += fmt::format("    const std::int64_t point{} = {};\n", axis,
                        index_text(grid[axis], axis > 0 ? rest + " % " + length : rest));
    if (axis > 0) text += fmt::format("    rest /= {};\n", length);
  }
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    grid[axis].first = fmt::format("point{}", axis);
    grid[axis].least = 1;
  }
  return text;
}

}  // namespace

SlotLayout slot_layout(const TaskOperator& op, const Kernel& kernel) {
  const std::int64_t points = op.body.stitching == Stitching::warp ? 1 : kernel.most_points();
  std::map<std::uint32_t, std::uint64_t> sizes;
  for (const SharedBuffer& shared : op.body.shared) {
    std::uint64_t& bytes = sizes[shared.slot];
    bytes = std::max(bytes, static_cast<std::uint64_t>(shared.elements_per_point * points) *
                                byte_size(shared.type));
  }
  SlotLayout layout;
  for (const auto& [slot, bytes] : sizes) {
    layout.offsets[slot] = layout.bytes;
    layout.bytes += (bytes + slot_alignment - 1) / slot_alignment * slot_alignment;
  }
  return layout;
}

Result<std::string> CudaPhases::call_text(const TaskOperator& op, const Phase& phase,
                                          const SlotLayout& slots,
                                          const std::vector<LoopBounds>& grid) {
  const bool by_points = op.body.stitching == Stitching::warp;
  DeviceParameters parameters;
  const std::vector<bool> is_used = used_inputs(phase.nest);
  for (std::uint32_t input = 0; input < is_used.size(); ++input)
    if (is_used[input])
      LEMMA_RETURN_IF_ERROR(parameters.add_tensor(op, slots, phase.operands[input],
                                                  phase.nest.graph.inputs()[input].type,
                                                  input_name(input), true));
  LEMMA_RETURN_IF_ERROR(
      parameters.add_tensor(op, slots, phase.result, phase.nest.type, "y", false));
  std::vector<LoopBounds> bounds = all_of(phase.nest);
  parameters.add_bounds(grid, by_points, bounds);
  LEMMA_ASSIGN_OR_RETURN(
      const std::string loop,
      spread_nest_text(phase.nest, bounds, by_points ? cuda_warp_size : block_threads_, 2));
  const std::string function =
      fmt::format("({}Threads threads) {{\n{}}}\n", parameters.declarations(), loop);
  const auto [at, is_new] = numbers_.try_emplace(function, numbers_.size());
  if (is_new)
    text_ += fmt::format("__device__ __noinline__ void phase_{}{}\n", at->second, function);
  return fmt::format("phase_{}({}{});\n", at->second, parameters.arguments(),
                     by_points ? "lanes" : "threads");
}

Result<std::string> CudaPhases::body_text(const TaskOperator& op, const Kernel& kernel,
                                          std::vector<LoopBounds> grid) {
  const bool by_points = op.body.stitching == Stitching::warp;
  const SlotLayout slots = slot_layout(op, kernel);
  std::string text, space = "  ";
  if (by_points) {
    text += points_loop(slots, grid);
    space = "    ";
  }
  if (!op.body.shared.empty())
    text += fmt::format("{}const std::int64_t first_point = {};\n", space,
                        first_point_of(kernel, grid));
  for (const Phase& phase : op.body.phases) {
    LEMMA_ASSIGN_OR_RETURN(const std::string call, call_text(op, phase, slots, grid));
    if (phase.has_barrier) text += space + (by_points ? "__syncwarp();\n" : "__syncthreads();\n");
    text += space + call;
  }
  if (by_points) {
    if (!op.body.shared.empty())
      text += space + "__syncwarp();  // the next point takes the slots\n";
    text += "  }\n";
  }
  return text;
}

}  // namespace lemma::backend
