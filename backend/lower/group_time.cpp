#include "backend/lower/group_time.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/lower/kernels.h"
#include "backend/lower/operator_kind.h"
#include "backend/lower/stitched_operator.h"

namespace lemma::backend {

namespace {

/// All that a computation is but its buffers.
std::string text_of(const Computation& computation) {
  std::string result = fmt::format("{}\n{}", text(computation.definition), computation.output);
  for (const lowering::InputView& view : computation.views)
    result += fmt::format("|{} {}", static_cast<int>(view.type), fmt::join(view.sizes, " "));
  return result + text(computation.schedule);
}

}  // namespace

GroupTimes::GroupTimes(const ComputationGraph& graph, const VirtualDevice& device)
    : graph_(graph), device_(device) {
  std::map<std::string, std::uint32_t> kinds;
  for (const Computation& computation : graph.computations)
    kinds_.push_back(kinds.emplace(text_of(computation), static_cast<std::uint32_t>(kinds.size()))
                         .first->second);
}

std::optional<double> GroupTimes::seconds(const Group& group, const std::vector<bool>& is_stored) {
  const auto [known, is_new] = known_.try_emplace(key_of(group, is_stored));
  if (is_new) known->second = timed(group, is_stored);
  return known->second;
}

/// Buffers by the order in which members first name them.
std::string GroupTimes::key_of(const Group& group, const std::vector<bool>& is_stored) const {
  std::map<BufferNumber, std::size_t> numbers;
  std::string result = fmt::format("{} {}", group.points, static_cast<int>(group.stitching));
  const auto add = [&](BufferNumber number) {
    if (number == no_buffer) {
      result += " -";
      return;
    }
    const auto [at, is_new] = numbers.emplace(number, numbers.size());
    result += fmt::format(" {}", at->second);
    if (!is_new) return;
    const Buffer& buffer = graph_.buffers[number];
    const bool is_given = buffer.memory == Memory::weights || buffer.memory == Memory::input;
    result += fmt::format(":{} {} {}", static_cast<int>(buffer.type), buffer.elements, is_given);
  };
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const Computation& computation = graph_.computations[group.members[i]];
    result += fmt::format(", {} {}", kinds_[group.members[i]], static_cast<bool>(is_stored[i]));
    for (const BufferNumber operand : computation.operands) add(operand);
    add(computation.result);
  }
  return result;
}

std::optional<double> GroupTimes::timed(const Group& group,
                                        const std::vector<bool>& is_stored) const {
  std::vector<bool> stored_buffers(graph_.buffers.size(), true);
  for (std::size_t i = 0; i < group.members.size(); ++i)
    stored_buffers[graph_.computations[group.members[i]].result] = is_stored[i];
  std::vector<std::int64_t> grid;
  auto op = group.members.size() == 1 ? operator_of(graph_.computations[group.members.front()])
                                      : stitched_operator(graph_, group, stored_buffers, grid);
  if (!op) return std::nullopt;
  op->digest = digest_of(*op, grid, graph_.buffers);
  add_kernels(*op, grid, graph_.buffers, device_, nullptr);
  std::optional<double> least;
  for (const Kernel& kernel : op->kernels) {
    const std::int64_t units = device_.units;
    const std::int64_t rounds = (kernel.task_count() + units - 1) / units;
    const double seconds = static_cast<double>(rounds) * kernel.seconds_per_task;
    if (!least || seconds < *least) least = seconds;
  }
  if (least && device_.units > 1) *least += device_.seconds_per_event;
  return least;
}

}  // namespace lemma::backend
