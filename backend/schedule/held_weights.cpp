#include "backend/schedule/held_weights.h"

#include <algorithm>

namespace lemma::backend {

namespace {

/// What units have beside addresses, and beside what the smallest tasks of each operator take.
std::uint64_t room_of(const OperatorGraph& graph, const VirtualDevice& device) {
  if (!device.multiprocessor || !device.multiprocessor->source.keeps_weights) return 0;
  std::uint64_t taken = 0;
  for (const TaskOperator& op : graph.operators) {
    std::uint64_t least = op.kernels.front().shared_bytes;
    for (const Kernel& kernel : op.kernels) least = std::min(least, kernel.shared_bytes);
    taken = std::max(taken, least);
  }
  taken += address_bytes(graph);
  return device.shared_bytes_per_unit > taken ? device.shared_bytes_per_unit - taken : 0;
}

std::uint64_t bytes_of(const OperatorGraph& graph, const std::vector<bool>& is_counted) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < is_counted.size(); ++i)
    if (is_counted[i]) bytes += graph.buffers[i].bytes();
  return bytes;
}

}  // namespace

HeldWeights::HeldWeights(const OperatorGraph& graph, const VirtualDevice& device,
                         Dependencies& dependencies)
    : graph_(graph),
      dependencies_(dependencies),
      is_repeated_(repeated_weights(graph)),
      room_(room_of(graph, device)),
      bytes_(device.units, 0) {
  const std::uint64_t all = bytes_of(graph, is_repeated_);
  if (all > 0) most_holders_ = std::max<std::size_t>(1, room_ * device.units / all);
}

const std::vector<HeldWeights::Number>& HeldWeights::needs(OperatorNumber op,
                                                           std::uint32_t kernel) {
  static const std::vector<Number> nothing;
  if (room_ == 0) return nothing;
  const TaskOperator& task_operator = graph_.operators[op];
  const std::vector<ResidentLayout>& residents = task_operator.kernels[kernel].residents;
  std::vector<BufferNumber> buffers;
  for (const ResidentLayout& layout : residents)
    buffers.push_back(task_operator.arguments[layout.argument]);
  const bool is_repeated = std::any_of(
      buffers.begin(), buffers.end(), [this](BufferNumber buffer) { return is_repeated_[buffer]; });
  if (!is_repeated) return nothing;
  const auto [entry, is_new] = needs_.try_emplace({task_operator.kind, kernel, std::move(buffers)});
  if (is_new)
    for (const TaskAccess& access : dependencies_.accesses_of(op, kernel))
      entry->second.push_back(number_of(
          resident_needs(graph_, is_repeated_, op, task_operator.kernels[kernel], access).parts));
  return entry->second;
}

HeldWeights::Number HeldWeights::number_of(const std::vector<ResidentPart>& parts) {
  if (parts.empty()) return none;
  const auto [entry, is_new] = numbers_.emplace(parts, static_cast<Number>(parts_.size()));
  if (is_new) {
    parts_.emplace_back();
    for (const ResidentPart& part : parts) parts_.back().bytes += aligned_bytes(part);
  }
  return entry->second;
}

void HeldWeights::add(Number number, UnitNumber unit) {
  Parts& parts = parts_[number];
  if (bytes_[unit] + parts.bytes > room_ || parts.holders.size() == most_holders_ ||
      std::find(parts.holders.begin(), parts.holders.end(), unit) != parts.holders.end())
    return;
  bytes_[unit] += parts.bytes;
  parts.holders.push_back(unit);
  added_.emplace_back(number, unit);
}

void HeldWeights::restore(std::size_t state) {
  for (; added_.size() > state; added_.pop_back()) {
    const auto [number, unit] = added_.back();
    bytes_[unit] -= parts_[number].bytes;
    parts_[number].holders.pop_back();
  }
}

}  // namespace lemma::backend
