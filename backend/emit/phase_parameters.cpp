#include "backend/emit/phase_parameters.h"

#include <utility>

#include <fmt/format.h>

#include "backend/emit/source_types.h"

namespace lemma::backend {

void PhaseParameters::add(source::Parameter parameter, std::string argument) {
  declarations_.push_back(std::move(parameter));
  arguments_.emplace_back(std::move(argument));
}

void PhaseParameters::add_bounds(const std::vector<LoopBounds>& grid, bool by_points,
                                 std::vector<LoopBounds>& bounds) {
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    bounds[axis] = grid[axis];
    if (bounds[axis].least == bounds[axis].extent && !by_points) continue;
    const std::string first = fmt::format("first{}", axis), end = fmt::format("end{}", axis);
    add({"std::int64_t", first}, grid[axis].first);
    if (!by_points) add({"std::int64_t", end}, grid[axis].end);
    bounds[axis].multiple = 1;
    bounds[axis].first = first;
    bounds[axis].end = by_points ? first + " + 1" : end;
  }
}

std::vector<PhaseTensor> tensors_of(const Phase& phase) {
  std::vector<PhaseTensor> tensors;
  const lowering::Domain domain = phase.nest.graph.domain();
  const std::vector<bool> is_used = used_inputs(phase.nest);
  for (std::uint32_t input = 0; input < is_used.size(); ++input)
    if (is_used[input])
      tensors.push_back({phase.operands[input], phase.nest.graph.inputs()[input].type, domain,
                         input_name(input), true});
  tensors.push_back({phase.result, phase.nest.type, domain, "y", false});
  return tensors;
}

Result<std::string> PhaseTensor::element_type() const { return stored_type(type, domain); }

Result<std::string> pointed_type(const PhaseTensor& tensor) {
  LEMMA_ASSIGN_OR_RETURN(const std::string element, tensor.element_type());
  return (tensor.is_read ? "const " : "") + element;
}

std::string first_point_text(const Kernel& kernel, const std::vector<LoopBounds>& grid) {
  std::string text = "0";
  for (std::size_t axis = 0; axis < kernel.extents.size(); ++axis)
    text = text == "0"
               ? grid[axis].first
               : fmt::format("({}) * {} + {}", text, kernel.extents[axis], grid[axis].first);
  return text;
}

}  // namespace lemma::backend
