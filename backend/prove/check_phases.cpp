#include "backend/prove/check_phases.h"

#include <algorithm>
#include <map>
#include <set>

namespace lemma::backend {

namespace {

/// Null for an argument of the operator.
const SharedBuffer* shared_buffer(const TaskOperator& op, std::uint32_t argument) {
  return argument < op.arguments.size() ? nullptr : &op.body.shared[argument - op.arguments.size()];
}

/// Whether the phase may write to the slot of its result: it does not read what lies there, and no buffer of
/// another type has the slot.
bool may_take_slot(const TaskOperator& op, const Phase& phase) {
  const SharedBuffer* made = shared_buffer(op, phase.result);
  if (made == nullptr) return true;
  const auto is_other = [made](const SharedBuffer& other) {
    return other.slot == made->slot && other.type != made->type;
  };
  const auto is_there = [&op, made](std::uint32_t operand) {
    const SharedBuffer* read = operand == no_argument ? nullptr : shared_buffer(op, operand);
    return read != nullptr && read->slot == made->slot;
  };
  return std::none_of(op.body.shared.begin(), op.body.shared.end(), is_other) &&
         std::none_of(phase.operands.begin(), phase.operands.end(), is_there);
}

std::int64_t elements_per_point(const TaskOperator& op, const Kernel& kernel,
                                const std::vector<Buffer>& buffers, std::uint32_t argument) {
  if (const SharedBuffer* shared = shared_buffer(op, argument)) return shared->elements_per_point;
  std::int64_t points = 1;
  for (const std::int64_t extent : kernel.extents) points *= extent;
  return buffers[op.arguments[argument]].elements / points;
}

}  // namespace

std::int64_t element_count(const Region& region) {
  std::int64_t count = 1;
  for (const Region::Axis& axis : region.axes) count *= axis.extent;
  return count;
}

namespace {

/// What has happened since the last barrier: arguments that were written, and slots that were used.
struct SinceBarrier {
  std::set<std::uint32_t> written, used_slots;

  /// Whether the phase may run at the same time as those.
  bool allows(const TaskOperator& op, const Phase& phase) const {
    const SharedBuffer* made = shared_buffer(op, phase.result);
    return (made == nullptr || !used_slots.contains(made->slot)) &&
           std::none_of(phase.operands.begin(), phase.operands.end(),
                        [this](std::uint32_t operand) { return written.contains(operand); });
  }

  void add(const TaskOperator& op, const Phase& phase) {
    if (phase.has_barrier) *this = {};
    written.insert(phase.result);
    if (const SharedBuffer* made = shared_buffer(op, phase.result)) used_slots.insert(made->slot);
    for (const std::uint32_t operand : phase.operands)
      if (const SharedBuffer* read = operand == no_argument ? nullptr : shared_buffer(op, operand))
        used_slots.insert(read->slot);
  }
};

}  // namespace

Result<void> check_phases(const TaskOperator& op) {
  if (op.result_count == 0 || op.result_count > op.arguments.size())
    return internal_error("an operator has no result");
  const std::size_t first_result = op.arguments.size() - op.result_count;
  std::vector<bool> is_written(op.arguments.size() + op.body.shared.size(), false);
  for (std::size_t i = 0; i < first_result; ++i) is_written[i] = true;
  std::map<std::uint32_t, std::uint32_t> holders;  // by slot: the shared buffer that it holds
  SinceBarrier since;
  for (const Phase& phase : op.body.phases) {
    for (const std::uint32_t operand : phase.operands) {
      if (operand == no_argument) continue;
      if (operand >= is_written.size() || !is_written[operand])
        return internal_error("a phase reads what has not been written");
      if (const SharedBuffer* shared = shared_buffer(op, operand);
          shared != nullptr && holders.at(shared->slot) != operand)
        return internal_error("a phase reads a shared buffer whose memory another one has taken");
    }
    if (phase.result < first_result || phase.result >= is_written.size())
      return internal_error("a phase writes to an operand");
    if (is_written[phase.result]) return internal_error("two phases write the same tensor");
    if (!phase.has_barrier && !since.allows(op, phase))
      return internal_error("there is no barrier before a phase that needs one");
    since.add(op, phase);
    if (!may_take_slot(op, phase))
      return internal_error("a phase writes to the memory that it reads");
    if (const SharedBuffer* made = shared_buffer(op, phase.result))
      holders[made->slot] = phase.result;
    is_written[phase.result] = true;
  }
  for (std::size_t i = first_result; i < op.arguments.size(); ++i)
    if (!is_written[i]) return internal_error("no phase makes a result");
  return {};
}

Result<void> check_phase_accesses(const TaskOperator& op, const Kernel& kernel,
                                  const std::vector<Buffer>& buffers, std::int64_t task,
                                  const TaskAccess& access) {
  if (access.phases.size() != (op.is_stitched() ? op.body.phases.size() : 0))
    return internal_error("there is not one access for each phase");
  if (access.phases.empty()) return {};
  const auto points = kernel.points(task);
  if (!points) return internal_error("the points of a task are not neighbours");
  const std::int64_t first = points->first,
                     end = op.body.stitching == Stitching::warp ? first + 1 : points->second;
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> written;  // by argument
  for (std::size_t i = 0; i < access.phases.size(); ++i) {
    const PhaseAccess& phase = access.phases[i];
    for (const PhaseAccess::Part& read : phase.reads) {
      const auto entry = written.find(read.argument);
      if (entry == written.end() || read.region.base < entry->second.first ||
          read.region.last() >= entry->second.second)
        return internal_error("a phase reads what no earlier phase of its task wrote");
    }
    const std::int64_t per_point = elements_per_point(op, kernel, buffers, phase.write.argument);
    if (phase.write.argument != op.body.phases[i].result ||
        phase.write.region.base != first * per_point ||
        phase.write.region.last() != end * per_point - 1 ||
        element_count(phase.write.region) != (end - first) * per_point)
      return internal_error("a phase does not write its part");
    written[phase.write.argument] = {first * per_point, end * per_point};
  }
  return {};
}

}  // namespace lemma::backend
