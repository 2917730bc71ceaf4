#include "backend/emit/phase_functions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/phase_parameters.h"
#include "backend/emit/print.h"
#include "backend/emit/source_types.h"

namespace lemma::backend {

using source::Statements;

/// Takes note of divisors of zero: what is divided is undefined, and may be selected away.
Result<Statements> emit_loops(const lowering::LoweredOutput& nest,
                              const std::vector<LoopBounds>& bounds, const LoopSchedule& schedule) {
  LEMMA_ASSIGN_OR_RETURN(Statements loops, emit_blocked_nest(nest, bounds, "y", schedule));
  return source::with_ok(std::move(loops));
}

namespace {

/// Local arrays for the shared buffers, each as large as the largest that has its slot.
Result<Statements> declarations_of_slots(const TaskOperator& op, std::int64_t points) {
  std::map<std::uint32_t, std::pair<std::int64_t, DataType>> slots;
  for (const SharedBuffer& shared : op.body.shared) {
    auto& [elements, type] = slots[shared.slot];
    elements = std::max(elements, shared.elements_per_point * points);
    type = shared.type;
  }
  Statements declarations;
  const lowering::Domain domain = op.body.phases.front().nest.graph.domain();
  for (const auto& [slot, contents] : slots) {
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(contents.second, domain));
    declarations.push_back(source::Declaration{.type = type,
                                               .name = fmt::format("slot{}", slot),
                                               .extents = {fmt::format("{}", contents.first)},
                                               .alignment = 64});
  }
  return declarations;
}

/// The parameters of a function, and the views of shared buffers that stand before its loops.
struct Parameters : PhaseParameters {
  Statements windows;

  /// The elements of an argument of the operator, or of the task's part of a shared buffer.
  Result<void> add_tensor(const TaskOperator& op, const PhaseTensor& tensor, bool is_windowed) {
    LEMMA_ASSIGN_OR_RETURN(const std::string pointed, pointed_type(tensor));
    source::Parameter parameter = {pointed + "*", tensor.name, true};
    if (tensor.argument < op.arguments.size()) {
      add(std::move(parameter),
          fmt::format("static_cast<{}*>(arguments[{}])", pointed, tensor.argument));
      return {};
    }
    const SharedBuffer& shared = op.body.shared[tensor.argument - op.arguments.size()];
    if (is_windowed) {
      parameter.name = "slot_of_" + tensor.name;
      windows.push_back(source::constant(
          fmt::format("Window<{}>", pointed), tensor.name,
          fmt::format("{{{}, first_point * {}}}", parameter.name, shared.elements_per_point)));
    }
    add(std::move(parameter), fmt::format("slot{}", shared.slot));
    return {};
  }
};

/// Whether all that a phase reads of an input at a point of a grid of one axis is the part of it that belongs to the point.
bool reads_rows(const lowering::LoweredOutput& nest, std::uint32_t input, std::int64_t elements) {
  const lowering::LoopVariable point = nest.axes.front();
  bool is_read = false;
  for (lowering::TermNumber id = 0; id < nest.graph.size(); ++id) {
    const lowering::Term& term = nest.graph.term(id);
    if (term.kind != ExpressionKind::read || term.input != input) continue;
    const lowering::Linear address = nest.graph.address(term);
    const lowering::Linear rest =
        lowering::combine(address, lowering::Linear::atom(point), -elements);
    if (address.coefficient(point) != elements || !nest.graph.range(rest).within(0, elements - 1))
      return false;
    is_read = true;
  }
  return is_read;
}

/// Asks, while a point is computed, for what is read at one of the next points, or else for what is stored at this one or a
/// later one: memory answers meanwhile. Only where the tensors are larger than a near cache, and a point has some lines of
/// them.
Result<Statements> prefetches_of_points(const TaskOperator& op, const Kernel& kernel,
                                        bool of_reads) {
  constexpr std::int64_t least_bytes = 1 << 20, line = 64, near_bytes = 4096, most_bytes = 1 << 14;
  Statements result;
  if (kernel.extents.size() != 1) return result;
  const std::int64_t points = kernel.extents[0];
  std::set<std::uint32_t> asked;
  for (const Phase& phase : op.body.phases) {
    if (phase.nest.graph.domain() != lowering::Domain::native) return Statements{};
    for (const PhaseTensor& tensor : tensors_of(phase)) {
      if (tensor.argument >= op.arguments.size() || tensor.is_read != of_reads ||
          asked.contains(tensor.argument))
        continue;
      std::int64_t elements = 1;
      std::uint32_t input = 0;
      while (tensor.is_read && input_name(input) != tensor.name) ++input;
      for (const std::int64_t size :
           tensor.is_read ? phase.nest.graph.inputs()[input].sizes : phase.nest.sizes)
        elements *= size;
      const std::int64_t row = elements / points,
                         bytes = row * static_cast<std::int64_t>(byte_size(tensor.type));
      if (bytes * points < least_bytes || bytes < 2 * line || bytes > most_bytes ||
          (tensor.is_read && !reads_rows(phase.nest, input, row)))
        continue;
      asked.insert(tensor.argument);
      const std::int64_t ahead =
          std::max<std::int64_t>(1, near_bytes / bytes) - (tensor.is_read ? 0 : 1);
      LEMMA_ASSIGN_OR_RETURN(const std::string pointed, pointed_type(tensor));
      result.push_back(source::Call{
          fmt::format("prefetch<{}, {}>", row, !tensor.is_read),
          {fmt::format("static_cast<{}*>(arguments[{}]) + at_most(point0 + {}, {}) * {}LL", pointed,
                       tensor.argument, ahead, points - 1, row)}});
    }
  }
  return result;
}

}  // namespace

Result<source::Call> PhaseFunctions::call_of(const TaskOperator& op, const Phase& phase,
                                             const std::vector<LoopBounds>& grid,
                                             bool is_windowed) {
  Parameters parameters;
  for (const PhaseTensor& tensor : tensors_of(phase))
    LEMMA_RETURN_IF_ERROR(parameters.add_tensor(op, tensor, is_windowed));
  if (!parameters.windows.empty()) parameters.add({"std::int64_t", "first_point"}, "first_point");
  std::vector<LoopBounds> bounds = all_of(phase.nest);
  parameters.add_bounds(grid, op.body.stitching == Stitching::warp, bounds);
  LEMMA_ASSIGN_OR_RETURN(Statements loops, emit_loops(phase.nest, bounds, phase.schedule));
  source::Function function = {parameters.declarations(), std::move(parameters.windows)};
  std::move(loops.begin(), loops.end(), std::back_inserter(function.body));
  const std::string text = source::print_unnamed(function, source::Dialect::cpp);
  const auto [at, is_new] = numbers_.try_emplace(text, numbers_.size());
  const std::string name = fmt::format("phase_{}", at->second);
  if (is_new)
    texts_.push_back(source::function_head(function, source::Linkage::phase, source::Dialect::cpp) +
                     name + text);
  called_.insert(at->second);
  return source::Call{name, parameters.arguments()};
}

Result<Statements> PhaseFunctions::emit_body(const TaskOperator& op, const Kernel& kernel,
                                             std::vector<LoopBounds> grid) {
  const bool by_points = op.body.stitching == Stitching::warp;
  const bool is_windowed = by_points || kernel.task_count() > 1;
  source::Builder body;
  LEMMA_ASSIGN_OR_RETURN(Statements slots,
                         declarations_of_slots(op, by_points ? 1 : kernel.most_points()));
  body.add(std::move(slots));
  for (std::size_t axis = 0; by_points && axis < grid.size(); ++axis) {
    const std::string point = fmt::format("point{}", axis);
    body.open(source::counting_loop(point, grid[axis].first, grid[axis].end));
    grid[axis].first = point;
    grid[axis].least = 1;
  }
  if (is_windowed && !op.body.shared.empty())
    body.add(source::constant("std::int64_t", "first_point", first_point_text(kernel, grid)));
  for (const Phase& phase : op.body.phases) {
    LEMMA_ASSIGN_OR_RETURN(source::Call call, call_of(op, phase, grid, is_windowed));
    if (phase.has_barrier) body.add(source::Barrier{by_points});
    body.add(std::move(call));
    const auto place = &phase - op.body.phases.data();
    if (!by_points || place > 1) continue;
    LEMMA_ASSIGN_OR_RETURN(Statements prefetches, prefetches_of_points(op, kernel, place == 0));
    body.add(std::move(prefetches));
  }
  if (by_points) body.close(grid.size());
  return body.take();
}

}  // namespace lemma::backend
