#include "backend/program.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace lemma::backend {

std::int64_t Region::last() const {
  std::int64_t result = base;
  for (const Axis& axis : axes) result += (axis.extent - 1) * axis.stride;
  return result;
}

namespace {

std::int64_t parts_along(const Kernel& kernel, std::size_t axis) {
  return (kernel.extents[axis] + kernel.parts[axis] - 1) / kernel.parts[axis];
}

}  // namespace

std::int64_t Kernel::task_count() const {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) count *= parts_along(*this, axis);
  return count;
}

std::vector<std::pair<std::int64_t, std::int64_t>> Kernel::box(std::int64_t task) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> result(extents.size());
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    const std::int64_t count = parts_along(*this, axis);
    const std::int64_t begin = task % count * parts[axis];
    result[axis] = {begin, std::min(begin + parts[axis], extents[axis])};
    task /= count;
  }
  return result;
}

std::optional<std::pair<std::int64_t, std::int64_t>> Kernel::points(std::int64_t task) const {
  std::int64_t first = 0, last = 0, count = 1;
  const auto boxes = box(task);
  for (std::size_t axis = 0; axis < boxes.size(); ++axis) {
    first = first * extents[axis] + boxes[axis].first;
    last = last * extents[axis] + boxes[axis].second - 1;
    count *= boxes[axis].second - boxes[axis].first;
  }
  if (last - first + 1 != count) return std::nullopt;
  return std::pair(first, last + 1);
}

std::int64_t Kernel::most_points() const {
  std::int64_t count = 1;
  for (const std::int64_t part : parts) count *= part;
  return count;
}

std::map<std::uint32_t, std::uint64_t> slot_bytes(const TaskOperator& op, const Kernel& kernel) {
  const std::int64_t points = op.body.stitching == Stitching::warp ? 1 : kernel.most_points();
  std::map<std::uint32_t, std::uint64_t> slots;
  for (const SharedBuffer& shared : op.body.shared) {
    std::uint64_t& bytes = slots[shared.slot];
    bytes = std::max(bytes, static_cast<std::uint64_t>(shared.elements_per_point * points) *
                                byte_size(shared.type));
  }
  return slots;
}

std::size_t TaskProgram::task_count() const {
  std::size_t count = 0;
  for (const std::vector<Step>& unit : units) count += unit.size();
  return count;
}

double TaskProgram::seconds_of(const Task& task) const {
  const Kernel& chosen = kernel(task.op);
  return has_residents(task) ? chosen.seconds_with_residents : chosen.seconds_per_task;
}

double TaskProgram::memory_seconds() const {
  double seconds = 0;
  if (!residents.is_empty()) return seconds;
  for (OperatorNumber op = 0; op < chosen_kernels.size(); ++op)
    seconds += kernel(op).memory_seconds;
  return seconds;
}

double TaskProgram::loading_seconds(UnitNumber unit) const {
  if (residents.is_empty()) return 0;
  std::uint64_t bytes = 0;
  for (const ResidentPart& part : residents.parts[unit]) bytes += part.copied_bytes();
  return static_cast<double>(bytes) * device.seconds_per_weight_byte;
}

std::vector<std::string> own_kernel_lines(std::span<const TaskProgram> programs) {
  std::set<std::string> lines;
  for (const TaskProgram& program : programs)
    for (const TaskOperator& op : program.graph.operators)
      if (op.own) lines.insert(fmt::format("{}: {}", op.name, op.description));
  return {lines.begin(), lines.end()};
}

std::uint64_t address_bytes(const OperatorGraph& graph) {
  constexpr std::uint64_t alignment = 128;
  std::size_t most = 0;
  for (const TaskOperator& op : graph.operators) most = std::max(most, op.arguments.size());
  return (most * sizeof(void*) + alignment - 1) / alignment * alignment;
}

std::vector<bool> repeated_weights(const OperatorGraph& graph) {
  std::vector<int> readers(graph.buffers.size(), 0);
  for (const TaskOperator& op : graph.operators)
    for (const BufferNumber operand : op.operands()) ++readers[operand];
  std::vector<bool> result(graph.buffers.size(), false);
  for (BufferNumber i = 0; i < graph.buffers.size(); ++i)
    result[i] = graph.buffers[i].memory == Memory::weights && readers[i] > 1;
  return result;
}

std::string text(const TaskProgram& program) {
  std::string result;
  for (UnitNumber unit = 0; unit < program.units.size(); ++unit)
    for (const Step& step : program.units[unit]) {
      result += fmt::format("unit {}:", unit);
      for (const Wait& wait : step.waits)
        result += fmt::format(" wait {} >= {};", wait.counter, wait.value);
      result += fmt::format(" run {}.{} ({})", step.task.op, step.task.number,
                            program.graph.operators[step.task.op].name);
      for (const CounterNumber signal : step.signals) result += fmt::format("; signal {}", signal);
      result += "\n";
    }
  return result;
}

}  // namespace lemma::backend
