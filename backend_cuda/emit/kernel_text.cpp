#include "backend_cuda/emit/kernel_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backend_cuda/emit/nest_text.h"
#include "backend_cuda/emit/source_types.h"

namespace lemma::backend {

namespace {

/// The bounds of the axes of the grid; declares those of axes that are cut into parts.
std::vector<LoopBounds> part_bounds(const Kernel& kernel, const lowering::LoweredOutput& nest,
                                    std::string& text) {
  std::vector<LoopBounds> bounds = all_of(nest);
  bounds.resize(kernel.extents.size());
  std::int64_t stride = 1;
  for (std::size_t axis = kernel.extents.size(); axis-- > 0;) {
    const std::int64_t extent = kernel.extents[axis], part = kernel.parts[axis];
    const std::int64_t count = (extent + part - 1) / part;
    if (count == 1) continue;
    const std::string first = fmt::format("first{}", axis), end = fmt::format("end{}", axis);
    std::string number = stride == 1 ? "part" : fmt::format("part / {}", stride);
    if (stride * count < kernel.task_count()) number += fmt::format(" % {}", count);
    text += fmt::format("  const std::int64_t {} = {} * {};\n", first, number, part);
    if (extent % part == 0)
      text += fmt::format("  const std::int64_t {} = {} + {};\n", end, first, part);
    else
      text += fmt::format("  const std::int64_t {0} = {1} + {2} < {3} ? {1} + {2} : {3};\n", end,
                          first, part, extent);
    bounds[axis] = {first, end, std::min(part, extent - (count - 1) * part)};
    stride *= count;
  }
  return bounds;
}

/// Declares `name`, the elements of an argument or of the task's part of a shared buffer.
Result<std::string> tensor_text(const TaskOperator& op, std::uint32_t argument, DataType type,
                                std::string_view name, bool is_read, int indent) {
  LEMMA_ASSIGN_OR_RETURN(const std::string element, stored_type(type));
  const std::string space(static_cast<std::size_t>(indent), ' ');
  const std::string_view constant = is_read ? "const " : "";
  if (argument < op.arguments.size())
    return fmt::format("{}{}auto* const __restrict {} = static_cast<{}{}*>(arguments[{}]);\n",
                       space, constant, name, constant, element, argument);
  const SharedBuffer& shared = op.body.shared[argument - op.arguments.size()];
  return fmt::format("{}const Window<{}{}> {} = {{slot{}, first_point * {}}};\n", space, constant,
                     element, name, shared.slot, shared.elements_per_point);
}

/// Declarations of what the phase reads and writes, and its loops.
Result<std::string> phase_text(const TaskOperator& op, const Phase& phase,
                               const std::vector<LoopBounds>& bounds, int indent) {
  std::string text;
  const std::vector<bool> is_used = used_inputs(phase.nest);
  for (std::uint32_t input = 0; input < is_used.size(); ++input) {
    if (!is_used[input]) continue;
    LEMMA_ASSIGN_OR_RETURN(
        const std::string declaration,
        tensor_text(op, phase.operands[input], phase.nest.graph.inputs()[input].type,
                    input_name(input), true, indent));
    text += declaration;
  }
  LEMMA_ASSIGN_OR_RETURN(const std::string result,
                         tensor_text(op, phase.result, phase.nest.type, "y", false, indent));
  LEMMA_ASSIGN_OR_RETURN(const std::string nest,
                         blocked_nest_text(phase.nest, bounds, "y", indent));
  text += result;
  // Takes note of divisors of zero: what is divided is undefined, and may be selected away.
  if (nest.find(", ok)") != std::string::npos)
    text += std::string(static_cast<std::size_t>(indent), ' ') + "std::uint8_t ok = 1;\n";
  return text + nest;
}

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

/// The bounds of a phase: those of the grid, then all of its other axes.
std::vector<LoopBounds> phase_bounds(const lowering::LoweredOutput& nest,
                                     const std::vector<LoopBounds>& grid) {
  std::vector<LoopBounds> bounds = all_of(nest);
  std::copy(grid.begin(), grid.end(), bounds.begin());
  return bounds;
}

/// The number of the first point in the grid, where `firsts` are its indices.
std::string first_point_text(const Kernel& kernel, const std::vector<LoopBounds>& bounds) {
  std::string text = "0";
  for (std::size_t axis = 0; axis < kernel.extents.size(); ++axis)
    text = text == "0"
               ? bounds[axis].first
               : fmt::format("({}) * {} + {}", text, kernel.extents[axis], bounds[axis].first);
  return text;
}

/// Phases one after the other, for all points of the task or (the warp scheme) for each.
Result<std::string> phases_text(const TaskOperator& op, const Kernel& kernel,
                                std::vector<LoopBounds> grid) {
  const bool by_points = op.body.stitching == Stitching::warp;
  LEMMA_ASSIGN_OR_RETURN(std::string text, slots_text(op, by_points ? 1 : kernel.most_points()));
  int indent = 2;
  for (std::size_t axis = 0; by_points && axis < grid.size(); ++axis) {
    const std::string point = fmt::format("point{}", axis);
    text += fmt::format("{}for (std::int64_t {} = {}; {} < {}; ++{}) {{\n",
                        std::string(static_cast<std::size_t>(indent), ' '), point, grid[axis].first,
                        point, grid[axis].end, point);
    grid[axis] = {point, point + " + 1", 1};
    indent += 2;
  }
  const std::string space(static_cast<std::size_t>(indent), ' ');
  text += fmt::format("{}[[maybe_unused]] const std::int64_t first_point = {};\n", space,
                      first_point_text(kernel, grid));
  for (std::size_t i = 0; i < op.body.phases.size(); ++i) {
    const Phase& phase = op.body.phases[i];
    LEMMA_ASSIGN_OR_RETURN(const std::string part,
                           phase_text(op, phase, phase_bounds(phase.nest, grid), indent + 2));
    if (phase.has_barrier)
      text += fmt::format("{}// barrier of the {}: program order on one thread\n", space,
                          by_points ? "warp" : "block");
    text += space + "{\n" + part + space + "}\n";
  }
  for (; indent > 2; indent -= 2)
    text += std::string(static_cast<std::size_t>(indent) - 2, ' ') + "}\n";
  return text;
}

/// The function without its name.
Result<std::string> function_text_of(const TaskOperator& op, const Kernel& kernel) {
  std::string text =
      "([[maybe_unused]] void* const* arguments, [[maybe_unused]] std::int64_t part) {\n";
  const std::vector<LoopBounds> grid = part_bounds(kernel, op.body.phases.front().nest, text);
  auto body = op.is_stitched() ? phases_text(op, kernel, grid)
                               : phase_text(op, op.body.phases.front(), grid, 2);
  if (!body) return body;
  return text + *body + "}\n";
}

/// Guards are branches, and bounds are checked where elements are loaded.
bool has_guarded_loads(const std::string& text) {
  return text.find("if (t") != std::string::npos || text.find("is_inside(") != std::string::npos;
}

struct Function {
  std::uint32_t number = 0;
  std::string comment;
  std::size_t others = 0;
};

}  // namespace

std::string kernel_name(std::uint32_t number) { return fmt::format("kernel_{}", number); }

Result<KernelTexts> kernel_texts(const TaskProgram& program) {
  KernelTexts result;
  std::map<std::string, Function> functions;
  std::vector<const std::pair<const std::string, Function>*> in_order;
  for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op) {
    const TaskOperator& one = program.graph.operators[op];
    auto text = function_text_of(one, program.kernel(op));
    if (!text)
      return with_context(fmt::format("{} '{}'", one.description, one.name),
                          std::move(text.error()));
    const auto [at, is_new] = functions.try_emplace(std::move(*text));
    if (is_new) {
      at->second = {static_cast<std::uint32_t>(in_order.size()),
                    fmt::format("{}: {} tasks, such as for {}", one.description,
                                program.kernel(op).task_count(), one.name)};
      in_order.push_back(&*at);
    } else {
      ++at->second.others;
    }
    result.by_operator.push_back(at->second.number);
  }
  for (const auto* function : in_order) {
    std::string comment = function->second.comment;
    if (function->second.others != 0)
      comment += fmt::format(" and {} more", function->second.others);
    for (char& each : comment)
      if (static_cast<unsigned char>(each) < ' ' || each == '\\') each = '_';
    result.text += fmt::format("// {}\n{}void {}{}\n", comment,
                               has_guarded_loads(function->first) ? "GUARDED_LOADS " : "",
                               kernel_name(function->second.number), function->first);
  }
  result.count = in_order.size();
  return result;
}

}  // namespace lemma::backend
