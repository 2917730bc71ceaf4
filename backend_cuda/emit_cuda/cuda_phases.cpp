#include "backend_cuda/emit_cuda/cuda_phases.h"

#include <fmt/format.h>

#include "backend_cuda/emit/phase_parameters.h"
#include "backend_cuda/emit_cuda/spread_nest.h"

namespace lemma::backend {

namespace {

constexpr std::uint64_t slot_alignment = 16;

/// The elements of an argument of the operator, or of the task's part of a shared buffer.
Result<void> add_tensor(PhaseParameters& parameters, const TaskOperator& op,
                        const SlotLayout& slots, const PhaseTensor& tensor) {
  LEMMA_ASSIGN_OR_RETURN(const std::string pointed, pointed_type(tensor));
  if (tensor.argument < op.arguments.size()) {
    parameters.add(fmt::format("{}* {}", pointed, tensor.name),
                   fmt::format("static_cast<{}*>(arguments[{}])", pointed, tensor.argument));
    return {};
  }
  const SharedBuffer& shared = op.body.shared[tensor.argument - op.arguments.size()];
  parameters.add(
      fmt::format("Window<{}> {}", pointed, tensor.name),
      fmt::format("Window<{0}>{{reinterpret_cast<{0}*>(slots + {1}), first_point * {2}}}", pointed,
                  slots.offsets.at(shared.slot), shared.elements_per_point));
  return {};
}

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
  SlotLayout layout;
  for (const auto& [slot, bytes] : slot_bytes(op, kernel)) {
    layout.offsets[slot] = layout.bytes;
    layout.bytes += (bytes + slot_alignment - 1) / slot_alignment * slot_alignment;
  }
  return layout;
}

Result<std::string> CudaPhases::call_text(const TaskOperator& op, const Phase& phase,
                                          const SlotLayout& slots,
                                          const std::vector<LoopBounds>& grid) {
  const bool by_points = op.body.stitching == Stitching::warp;
  PhaseParameters parameters;
  for (const PhaseTensor& tensor : tensors_of(phase))
    LEMMA_RETURN_IF_ERROR(add_tensor(parameters, op, slots, tensor));
  std::vector<LoopBounds> bounds = all_of(phase.nest);
  parameters.add_bounds(grid, by_points, bounds);
  parameters.add("Threads threads", by_points ? "lanes" : "threads");
  LEMMA_ASSIGN_OR_RETURN(
      const std::string loop,
      spread_nest_text(phase.nest, bounds, by_points ? cuda_warp_size : block_threads_, 2));
  const std::string function = fmt::format("({}) {{\n{}}}\n", parameters.declarations(), loop);
  const auto [at, is_new] = numbers_.try_emplace(function, numbers_.size());
  if (is_new)
    text_ += fmt::format("__device__ __noinline__ void phase_{}{}\n", at->second, function);
  return fmt::format("phase_{}({});\n", at->second, parameters.arguments());
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
                        first_point_text(kernel, grid));
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
