#include "backend_cuda/emit_cuda/cuda_phases.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend_cuda/blocks/shared_terms.h"
#include "backend_cuda/emit_cuda/spread_nest.h"
#include "backend_cuda/emit_cuda/tiled_text.h"

namespace lemma::backend {

namespace {

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

struct CudaPhases::Place {
  const TaskOperator& op;
  const Kernel& kernel;
  const SlotLayout& slots;
  const std::vector<LoopBounds>& grid;
  const std::set<std::uint32_t>& residents;

  bool is_by_points() const { return op.body.stitching == Stitching::warp; }
};

/// The loops of a phase: in tiles, or spread over the threads.
Result<std::string> CudaPhases::loop_text(const Place& place, const Phase& phase,
                                          const std::vector<LoopBounds>& bounds,
                                          PhaseParameters& parameters, Body& body,
                                          std::string& tiles) const {
  const std::uint32_t threads = place.is_by_points()
                                    ? cuda_warp_size
                                    : static_cast<std::uint32_t>(limits_.tiles.block_threads);
  const auto product =
      place.residents.empty() ? tiled_phase(place.op, place.kernel, phase, limits_) : std::nullopt;
  if (!product)
    return spread_nest_text(phase.nest, bounds, inputs_in_block(place.op, phase, place.residents),
                            threads, 2);
  body.tile_bytes = std::max(body.tile_bytes, product->tiles.shared_bytes);
  parameters.add("unsigned char* slots", fmt::format("slots + {}", place.slots.bytes));
  tiles = tile_name(product->tiles, product->left.access, product->right.access, threads);
  return tiled_nest_text(phase.nest, *product, bounds, threads, 2);
}

Result<std::string> CudaPhases::call_text(const Place& place, const Phase& phase, Body& body) {
  PhaseParameters parameters;
  for (const PhaseTensor& tensor : tensors_of(phase))
    LEMMA_RETURN_IF_ERROR(add_tensor(parameters, place.op, place.slots, tensor));
  std::vector<LoopBounds> bounds = all_of(phase.nest);
  parameters.add_bounds(place.grid, place.is_by_points(), bounds);
  parameters.add("Threads threads", place.is_by_points() ? "lanes" : "threads");
  std::string tiles;
  LEMMA_ASSIGN_OR_RETURN(const std::string loop,
                         loop_text(place, phase, bounds, parameters, body, tiles));
  const std::string function = fmt::format("({}) {{\n{}}}\n", parameters.declarations(), loop);
  const auto [at, is_new] = numbers_.try_emplace(function, numbers_.size());
  if (is_new) {
    text_ += fmt::format("__device__ __noinline__ void phase_{}{}\n", at->second, function);
    functions_.push_back({function, std::move(tiles)});
  }
  body.functions.push_back(at->second);
  return fmt::format("phase_{}({});\n", at->second, parameters.arguments());
}

Result<CudaPhases::Body> CudaPhases::body_text(const TaskOperator& op, const Kernel& kernel,
                                               std::vector<LoopBounds> grid,
                                               const std::set<std::uint32_t>& residents) {
  const SlotLayout slots = slot_layout(op, kernel);
  const Place place = {op, kernel, slots, grid, residents};
  Body body;
  std::string space = "  ";
  if (place.is_by_points()) {
    body.text += points_loop(slots, grid);
    space = "    ";
  }
  if (!op.body.shared.empty())
    body.text += fmt::format("{}const std::int64_t first_point = {};\n", space,
                             first_point_text(kernel, grid));
  for (const Phase& phase : op.body.phases) {
    LEMMA_ASSIGN_OR_RETURN(const std::string call, call_text(place, phase, body));
    if (phase.has_barrier)
      body.text += space + (place.is_by_points() ? "__syncwarp();\n" : "__syncthreads();\n");
    body.text += space + call;
  }
  if (place.is_by_points()) {
    if (!op.body.shared.empty())
      body.text += space + "__syncwarp();  // the next point takes the slots\n";
    body.text += "  }\n";
  }
  return body;
}

}  // namespace lemma::backend
