#include "backend_cuda/emit/phase_functions.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend_cuda/emit/phase_parameters.h"
#include "backend_cuda/emit/source_types.h"

namespace lemma::backend {

Result<std::string> loops_text(const lowering::LoweredOutput& nest,
                               const std::vector<LoopBounds>& bounds) {
  LEMMA_ASSIGN_OR_RETURN(const std::string loops, blocked_nest_text(nest, bounds, "y", 2));
  // Takes note of divisors of zero: what is divided is undefined, and may be selected away.
  return (loops.find(", ok)") != std::string::npos ? "  std::uint8_t ok = 1;\n" : "") + loops;
}

bool has_guarded_loads(const std::string& text) {
  return text.find("if (t") != std::string::npos || text.find("is_inside(") != std::string::npos;
}

namespace {

/// Local arrays for the shared buffers, each as large as the largest that has its slot.
Result<std::string> slots_text(const TaskOperator& op, std::int64_t points) {
  std::map<std::uint32_t, std::pair<std::int64_t, DataType>> slots;
  for (const SharedBuffer& shared : op.body.shared) {
    auto& [elements, type] = slots[shared.slot];
    elements = std::max(elements, shared.elements_per_point * points);
    type = shared.type;
  }
  std::string text;
  for (const auto& [slot, contents] : slots) {
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(contents.second));
    text += fmt::format("  alignas(64) {} slot{}[{}];\n", type, slot, contents.first);
  }
  return text;
}

/// The parameters of a function, and the views of shared buffers that stand before its loops.
struct Parameters : PhaseParameters {
  std::string windows;

  /// The elements of an argument of the operator, or of the task's part of a shared buffer.
  Result<void> add_tensor(const TaskOperator& op, const PhaseTensor& tensor, bool is_windowed) {
    LEMMA_ASSIGN_OR_RETURN(const std::string pointed, pointed_type(tensor));
    if (tensor.argument < op.arguments.size()) {
      add(fmt::format("{}* __restrict {}", pointed, tensor.name),
          fmt::format("static_cast<{}*>(arguments[{}])", pointed, tensor.argument));
      return {};
    }
    const SharedBuffer& shared = op.body.shared[tensor.argument - op.arguments.size()];
    const std::string pointer = is_windowed ? "slot_of_" + tensor.name : tensor.name;
    add(fmt::format("{}* __restrict {}", pointed, pointer), fmt::format("slot{}", shared.slot));
    if (is_windowed)
      windows += fmt::format("  const Window<{}> {} = {{{}, first_point * {}}};\n", pointed,
                             tensor.name, pointer, shared.elements_per_point);
    return {};
  }
};

}  // namespace

Result<std::string> PhaseFunctions::call_text(const TaskOperator& op, const Phase& phase,
                                              const std::vector<LoopBounds>& grid,
                                              bool is_windowed) {
  Parameters parameters;
  for (const PhaseTensor& tensor : tensors_of(phase))
    LEMMA_RETURN_IF_ERROR(parameters.add_tensor(op, tensor, is_windowed));
  if (!parameters.windows.empty()) parameters.add("std::int64_t first_point", "first_point");
  std::vector<LoopBounds> bounds = all_of(phase.nest);
  parameters.add_bounds(grid, op.body.stitching == Stitching::warp, bounds);
  LEMMA_ASSIGN_OR_RETURN(const std::string loops, loops_text(phase.nest, bounds));
  const std::string function =
      fmt::format("({}) {{\n{}{}}}\n", parameters.declarations(), parameters.windows, loops);
  const auto [at, is_new] = numbers_.try_emplace(function, numbers_.size());
  if (is_new)
    text_ += fmt::format("[[gnu::noinline]] {}void phase_{}{}\n",
                         has_guarded_loads(function) ? "GUARDED_LOADS " : "", at->second, function);
  return fmt::format("phase_{}({});\n", at->second, parameters.arguments());
}

Result<std::string> PhaseFunctions::body_text(const TaskOperator& op, const Kernel& kernel,
                                              std::vector<LoopBounds> grid) {
  const bool by_points = op.body.stitching == Stitching::warp;
  const bool is_windowed = by_points || kernel.task_count() > 1;
  LEMMA_ASSIGN_OR_RETURN(std::string text, slots_text(op, by_points ? 1 : kernel.most_points()));
  std::string space = "  ";
  for (std::size_t axis = 0; by_points && axis < grid.size(); ++axis) {
    const std::string point = fmt::format("point{}", axis);
    text += fmt::format("{0}for (std::int64_t {1} = {2}; {1} < {3}; ++{1}) {{\n", space, point,
                        grid[axis].first, grid[axis].end);
    grid[axis].first = point;
    grid[axis].least = 1;
    space += "  ";
  }
  if (is_windowed && !op.body.shared.empty())
    text += fmt::format("{}const std::int64_t first_point = {};\n", space,
                        first_point_text(kernel, grid));
  for (const Phase& phase : op.body.phases) {
    LEMMA_ASSIGN_OR_RETURN(const std::string call, call_text(op, phase, grid, is_windowed));
    if (phase.has_barrier)
      text += fmt::format("{}// Barrier of the {}: one thread runs the phases in order.\n", space,
                          by_points ? "warp" : "block");
    text += space + call;
  }
  for (; space.size() > 2; space.resize(space.size() - 2)) text += space.substr(2) + "}\n";
  return text;
}

}  // namespace lemma::backend
