#include "backend/lower/stitched_operator.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "backend/lower/grid.h"
#include "lowering/merge_axes.h"

namespace lemma::backend {

std::vector<Group> groups_of(const ComputationGraph& graph) {
  if (!graph.groups.empty()) return graph.groups;
  std::vector<Group> groups;
  for (std::size_t i = 0; i < graph.computations.size(); ++i) groups.push_back({{i}});
  return groups;
}

std::vector<bool> stored_buffers(const ComputationGraph& graph, const std::vector<Group>& groups) {
  std::vector<std::optional<std::size_t>> makers(graph.buffers.size());
  std::vector<bool> is_stored(graph.buffers.size());
  for (BufferNumber i = 0; i < is_stored.size(); ++i)
    is_stored[i] = graph.buffers[i].memory != Memory::arena;
  std::vector<bool> is_read(graph.buffers.size(), false);
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (const std::size_t member : groups[group].members)
      makers[graph.computations[member].result] = group;
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (const std::size_t member : groups[group].members)
      for (const BufferNumber operand : graph.computations[member].operands) {
        if (operand == no_buffer) continue;
        is_read[operand] = true;
        if (makers[operand] != group) is_stored[operand] = true;
      }
  for (BufferNumber i = 0; i < is_stored.size(); ++i)
    if (!is_read[i]) is_stored[i] = true;
  return is_stored;
}

namespace {

class Stitcher {
 public:
  Stitcher(const ComputationGraph& graph, const Group& group, const std::vector<bool>& is_stored)
      : graph_(graph), group_(group), is_stored_(is_stored) {
    for (const std::size_t member : group.members) members_.push_back(&graph.computations[member]);
  }

  Result<TaskOperator> run(std::vector<std::int64_t>& grid) {
    auto nests = nests_on_grid(members_, group_.points);
    if (!nests) return with_context(name_text(), std::move(nests.error()));
    op_.name = members_.back()->name;
    op_.body.stitching = group_.stitching;
    for (const Computation* member : members_)
      op_.description += (op_.description.empty() ? "" : " | ") + member->description;
    number_arguments();
    share_slots();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      std::vector<std::uint32_t> operands;
      for (const BufferNumber operand : members_[i]->operands)
        operands.push_back(operand == no_buffer ? no_argument : numbers_.at(operand));
      const std::uint32_t result = numbers_.at(members_[i]->result);
      const bool has_barrier = needs_barrier(operands, result);
      op_.body.phases.push_back({std::move(nests->nests[i]), std::move(operands), result,
                                 has_barrier, members_[i]->schedule});
    }
    grid = std::move(nests->extents);
    return std::move(op_);
  }

 private:
  std::string name_text() const {
    return fmt::format("{} '{}' and {} more", members_.front()->description, members_.front()->name,
                       members_.size() - 1);
  }

  /// Operands, then results, then shared buffers.
  void number_arguments() {
    std::map<BufferNumber, bool> is_made;
    for (const Computation* member : members_) is_made[member->result] = true;
    const auto add = [this](BufferNumber buffer) {
      if (numbers_.try_emplace(buffer, static_cast<std::uint32_t>(op_.arguments.size())).second)
        op_.arguments.push_back(buffer);
    };
    for (const Computation* member : members_)
      for (const BufferNumber operand : member->operands)
        if (operand != no_buffer && !is_made.contains(operand)) add(operand);
    const std::size_t operands = op_.arguments.size();
    for (const Computation* member : members_)
      if (is_stored_[member->result]) add(member->result);
    op_.result_count = op_.arguments.size() - operands;
    for (const Computation* member : members_) {
      if (is_stored_[member->result]) continue;
      const Buffer& buffer = graph_.buffers[member->result];
      numbers_[member->result] =
          static_cast<std::uint32_t>(op_.arguments.size() + op_.body.shared.size());
      op_.body.shared.push_back({buffer.type, buffer.elements / group_.points, 0});
    }
  }

  /// The last phase that reads each shared buffer.
  std::vector<std::size_t> last_uses() const {
    std::vector<std::size_t> last(op_.body.shared.size(), 0);
    for (std::size_t i = 0; i < members_.size(); ++i)
      for (const BufferNumber operand : members_[i]->operands)
        if (operand != no_buffer && numbers_.at(operand) >= op_.arguments.size())
          last[numbers_.at(operand) - op_.arguments.size()] = i;
    return last;
  }

  /// A slot is free once the last phase that reads its buffer has ended: the one whose size fits best is taken.
  void share_slots() {
    struct Slot {
      DataType type;
      std::int64_t elements;
      std::size_t last_use;
    };
    std::vector<Slot> slots;
    const std::vector<std::size_t> last = last_uses();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::uint32_t number = numbers_.at(members_[i]->result);
      if (number < op_.arguments.size()) continue;
      SharedBuffer& shared = op_.body.shared[number - op_.arguments.size()];
      std::size_t best = slots.size();
      const auto waste = [&](std::size_t slot) {
        return std::abs(slots[slot].elements - shared.elements_per_point);
      };
      for (std::size_t slot = 0; slot < slots.size(); ++slot)
        if (slots[slot].type == shared.type && slots[slot].last_use < i &&
            (best == slots.size() || waste(slot) < waste(best)))
          best = slot;
      if (best == slots.size()) slots.push_back({shared.type, 0, 0});
      slots[best].elements = std::max(slots[best].elements, shared.elements_per_point);
      slots[best].last_use = last[number - op_.arguments.size()];
      shared.slot = static_cast<std::uint32_t>(best);
    }
  }

  /// After the last barrier, another phase wrote what the phase reads, or used the memory that it writes.
  bool needs_barrier(const std::vector<std::uint32_t>& operands, std::uint32_t result) {
    const auto slot_of = [this](std::uint32_t argument) -> std::optional<std::uint32_t> {
      if (argument == no_argument || argument < op_.arguments.size()) return std::nullopt;
      return op_.body.shared[argument - op_.arguments.size()].slot;
    };
    bool needed = slot_of(result) && used_slots_.contains(*slot_of(result));
    for (const std::uint32_t operand : operands) needed = needed || written_.contains(operand);
    if (needed) {
      written_.clear();
      used_slots_.clear();
    }
    written_.insert(result);
    if (const auto slot = slot_of(result)) used_slots_.insert(*slot);
    for (const std::uint32_t operand : operands)
      if (const auto slot = slot_of(operand)) used_slots_.insert(*slot);
    return needed;
  }

  const ComputationGraph& graph_;
  const Group& group_;
  const std::vector<bool>& is_stored_;
  std::vector<const Computation*> members_;
  std::map<BufferNumber, std::uint32_t> numbers_;
  TaskOperator op_;
  std::set<std::uint32_t> written_, used_slots_;  // since the last barrier
};

}  // namespace

Result<TaskOperator> operator_of(Computation computation) {
  TaskOperator op;
  // Rows of a kernel of its own stay an axis.
  auto nest = computation.own ? nest_of(computation)
                              : lowering::lower_to_long_loops(
                                    computation.definition,
                                    computation.definition.outputs()[computation.output],
                                    computation.views, lowering::Domain::native);
  if (!nest)
    return with_context(fmt::format("{} '{}'", computation.description, computation.name),
                        std::move(nest.error()));
  op.name = std::move(computation.name);
  op.description = std::move(computation.description);
  op.own = std::move(computation.own);
  std::vector<std::uint32_t> operands(computation.operands.size(), no_argument);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const BufferNumber buffer = computation.operands[i];
    if (buffer == no_buffer) continue;
    const auto argument = std::find(op.arguments.begin(), op.arguments.end(), buffer);
    operands[i] = static_cast<std::uint32_t>(argument - op.arguments.begin());
    if (argument == op.arguments.end()) op.arguments.push_back(buffer);
  }
  const auto result = static_cast<std::uint32_t>(op.arguments.size());
  op.arguments.push_back(computation.result);
  op.body.phases.push_back(
      {std::move(*nest), std::move(operands), result, false, computation.schedule});
  return op;
}

Result<TaskOperator> stitched_operator(const ComputationGraph& graph, const Group& group,
                                       const std::vector<bool>& is_stored,
                                       std::vector<std::int64_t>& grid) {
  return Stitcher(graph, group, is_stored).run(grid);
}

Kernel stitched_kernel(const std::vector<std::int64_t>& grid, std::int64_t tasks) {
  Kernel kernel;
  for (const std::int64_t extent : grid) {
    const std::int64_t count = std::min(tasks, extent);
    kernel.extents.push_back(extent);
    kernel.parts.push_back((extent + count - 1) / count);
    // Points are neighbours only if an axis is cut after single indices of those before it.
    tasks = kernel.parts.back() == 1 ? (tasks + extent - 1) / extent : 1;
  }
  return kernel;
}

std::uint64_t shared_bytes(const TaskOperator& op, const Kernel& kernel) {
  std::uint64_t sum = 0;
  for (const auto& [slot, bytes] : slot_bytes(op, kernel)) sum += bytes;
  return sum;
}

void remove_unstored(ComputationGraph& graph, const std::vector<bool>& is_stored,
                     std::vector<TaskOperator>& operators) {
  std::vector<BufferNumber> numbers(graph.buffers.size(), no_buffer);
  std::vector<Buffer> buffers;
  for (BufferNumber i = 0; i < numbers.size(); ++i) {
    if (!is_stored[i]) continue;
    numbers[i] = static_cast<BufferNumber>(buffers.size());
    buffers.push_back(std::move(graph.buffers[i]));
  }
  graph.buffers = std::move(buffers);
  for (TaskOperator& op : operators)
    for (BufferNumber& argument : op.arguments) argument = numbers[argument];
  for (std::vector<BufferNumber>* list : {&graph.inputs, &graph.outputs})
    for (BufferNumber& buffer : *list) buffer = numbers[buffer];
}

}  // namespace lemma::backend
