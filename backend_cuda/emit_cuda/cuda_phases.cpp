#include "backend_cuda/emit_cuda/cuda_phases.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "backend/blocks/attention.h"
#include "backend/blocks/shared_terms.h"
#include "backend/emit/kernel_text.h"
#include "backend/emit/print.h"
#include "backend_cuda/emit_cuda/spread_nest.h"
#include "backend_cuda/emit_cuda/tiled_nest.h"

namespace lemma::backend {

using source::Statements;

namespace {

/// The elements of an argument of the operator, or of the task's part of a shared buffer.
Result<void> add_tensor(PhaseParameters& parameters, const TaskOperator& op,
                        const SlotLayout& slots, const PhaseTensor& tensor) {
  LEMMA_ASSIGN_OR_RETURN(const std::string pointed, pointed_type(tensor));
  if (tensor.argument < op.arguments.size()) {
    parameters.add({pointed + "*", tensor.name},
                   fmt::format("static_cast<{}*>(arguments[{}])", pointed, tensor.argument));
    return {};
  }
  const SharedBuffer& shared = op.body.shared[tensor.argument - op.arguments.size()];
  parameters.add(
      {fmt::format("Window<{}>", pointed), tensor.name},
      fmt::format("Window<{0}>{{reinterpret_cast<{0}*>(slots + {1}), first_point * {2}}}", pointed,
                  slots.offsets.at(shared.slot), shared.elements_per_point));
  return {};
}

/// Opens the loop over the points of a task; the bounds of the grid's axes become those of one point.
void open_points_loop(const SlotLayout& slots, std::vector<LoopBounds>& grid,
                      source::Builder& body) {
  body.add(source::Comment{"A point of the grid is the work of one warp."});
  body.add(source::constant("Threads", "lanes", "{threads.rank % warp_size, warp_size}"));
  if (slots.bytes > 0)
    body.add(source::Assignment{"slots", fmt::format("threads.rank / warp_size * {}", slots.bytes),
                                "+="});
  body.add(source::constant("std::int64_t", "points", count_text(grid)));
  body.open(source::counting_loop("point", "threads.rank / warp_size", "points",
                                  "threads.count / warp_size"));
  const std::string rest = grid.size() > 1 ? "rest" : "point";
  if (grid.size() > 1)
    body.add(source::Declaration{.type = "std::int64_t", .name = "rest", .value = "point"});
  for (std::size_t axis = grid.size(); axis-- > 0;) {
    const std::string length = length_text(grid[axis]);
    body.add(source::constant("std::int64_t", fmt::format("point{}", axis),
                              index_text(grid[axis], axis > 0 ? rest + " % " + length : rest)));
    if (axis > 0) body.add(source::Assignment{"rest", length, "/="});
  }
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    grid[axis].first = fmt::format("point{}", axis);
    grid[axis].least = grid[axis].multiple = 1;
  }
}

}  // namespace

struct CudaPhases::Place {
  const TaskOperator& op;
  const Kernel& kernel;
  const SlotLayout& slots;
  const std::vector<LoopBounds>& grid;
  const std::set<std::uint32_t>& residents;
  bool has_shared_slots;

  bool is_by_points() const { return op.body.stitching == Stitching::warp; }
};

/// What a phase says of where its tensors are.
Statements CudaPhases::tensors_in_memory(const Phase& phase, const Place& place) {
  Statements statements;
  for (const PhaseTensor& tensor : tensors_of(phase)) {
    const bool is_argument = tensor.argument < place.op.arguments.size();
    if (is_argument && !place.residents.contains(tensor.argument))
      statements.push_back(
          source::Assignment{tensor.name, fmt::format("ptx::in_memory({})", tensor.name)});
    if (!is_argument && place.has_shared_slots)
      statements.push_back(source::Assignment{
          tensor.name + ".elements", fmt::format("ptx::in_block({}.elements)", tensor.name)});
  }
  return statements;
}

/// The loops of a phase: in tiles, or spread over the threads.
Result<Statements> CudaPhases::loop_of(const Place& place, const Phase& phase,
                                       const std::vector<LoopBounds>& bounds,
                                       PhaseParameters& parameters, Body& body,
                                       std::string& tiles) const {
  const auto threads = static_cast<std::uint32_t>(
      place.is_by_points() ? limits_.tiles.warp_lanes : limits_.tiles.block_threads);
  const auto product =
      place.residents.empty() ? tiled_phase(place.op, place.kernel, phase, limits_) : std::nullopt;
  if (!product)
    return emit_spread_nest(phase.nest, bounds, inputs_in_block(place.op, phase, place.residents),
                            phase.result < place.op.arguments.size(), threads,
                            limits_.tiles.warp_lanes);
  body.tile_bytes = std::max(body.tile_bytes, product->tiles.shared_bytes);
  parameters.add({"unsigned char*", "slots"}, fmt::format("slots + {}", place.slots.bytes));
  tiles = tile_name(product->tiles, product->left.access, product->right.access, threads);
  return emit_tiled_nest(phase.nest, *product, bounds, inputs_in_block(place.op, phase),
                         phase.result < place.op.arguments.size(), threads);
}

Result<source::Call> CudaPhases::call_of(const Place& place, const Phase& phase, Body& body) {
  PhaseParameters parameters;
  for (const PhaseTensor& tensor : tensors_of(phase))
    LEMMA_RETURN_IF_ERROR(add_tensor(parameters, place.op, place.slots, tensor));
  std::vector<LoopBounds> bounds = all_of(phase.nest);
  parameters.add_bounds(place.grid, place.is_by_points(), bounds);
  parameters.add({"Threads", "threads"}, place.is_by_points() ? "lanes" : "threads");
  std::string tiles;
  Statements statements = tensors_in_memory(phase, place);
  LEMMA_ASSIGN_OR_RETURN(Statements loop, loop_of(place, phase, bounds, parameters, body, tiles));
  std::move(loop.begin(), loop.end(), std::back_inserter(statements));
  const source::Function function = {parameters.declarations(), std::move(statements)};
  const std::string text = source::print_unnamed(function, source::Dialect::cuda);
  const auto [at, is_new] = numbers_.try_emplace(text, numbers_.size());
  const std::string name = fmt::format("phase_{}", at->second);
  if (is_new) {
    text_ += source::function_head(function, source::Linkage::phase, source::Dialect::cuda) + name +
             text;
    functions_.push_back({text, std::move(tiles)});
  }
  body.functions.push_back(at->second);
  return source::Call{name, parameters.arguments()};
}

/// Attention in one pass: phases hand nothing to each other in memory.
Result<CudaPhases::Body> CudaPhases::emit_attention_body(
    const TaskOperator& op, const Attention& attention, const std::vector<LoopBounds>& grid) const {
  const auto tensors = [&op](const Phase& phase) -> Result<Statements> {
    Statements declarations;
    LEMMA_ASSIGN_OR_RETURN(Statements all, declarations_of_tensors(phase, {}));
    for (source::Statement& statement : all)
      if (std::get<source::TensorDeclaration>(statement.kind).number < op.arguments.size())
        declarations.push_back(std::move(statement));
    return declarations;
  };
  const Phase &scores = op.body.phases.front(), &results = op.body.phases.back();
  LEMMA_ASSIGN_OR_RETURN(Statements of_scores, tensors(scores));
  LEMMA_ASSIGN_OR_RETURN(Statements of_results, tensors(results));
  Body body;
  body.is_in_tiles = true;
  body.tile_bytes = attention.shared_bytes;
  LEMMA_ASSIGN_OR_RETURN(
      body.statements,
      emit_attention(attention, scores, results, grid, std::move(of_scores), std::move(of_results),
                     static_cast<std::uint32_t>(limits_.tiles.block_threads)));
  return body;
}

Result<CudaPhases::Body> CudaPhases::emit_body(const TaskOperator& op, const Kernel& kernel,
                                               std::vector<LoopBounds> grid,
                                               const std::set<std::uint32_t>& residents) {
  if (const auto attention =
          residents.empty() ? find_attention(op, kernel.parts, limits_) : std::nullopt)
    return emit_attention_body(op, *attention, grid);
  const SlotLayout slots = slot_layout(op, kernel);
  const BlockMemory memory = block_memory(op, kernel, limits_);
  const bool has_shared_slots = memory.slots + memory.tiles <= limits_.tiles.shared_bytes;
  const Place place = {op, kernel, slots, grid, residents, has_shared_slots};
  Body body;
  source::Builder statements;
  if (place.is_by_points()) open_points_loop(slots, grid, statements);
  if (!op.body.shared.empty())
    statements.add(source::constant("std::int64_t", "first_point", first_point_text(kernel, grid)));
  for (const Phase& phase : op.body.phases) {
    LEMMA_ASSIGN_OR_RETURN(source::Call call, call_of(place, phase, body));
    if (phase.has_barrier) statements.add(source::Barrier{place.is_by_points()});
    statements.add(std::move(call));
  }
  if (place.is_by_points()) {
    if (!op.body.shared.empty())
      statements.add(source::Barrier{true, "the next point takes the slots"});
    statements.close();
  }
  body.statements = statements.take();
  return body;
}

}  // namespace lemma::backend
