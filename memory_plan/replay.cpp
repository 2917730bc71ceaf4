#include "memory_plan/replay.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma::memory_plan {

namespace {

class Allocator {
 public:
  Allocator(const Problem& problem, std::optional<Bytes> limit)
      : problem_(problem), limit_(limit), is_there_(problem.nodes.size(), false) {
    replay_.runs.assign(problem.nodes.size(), 0);
  }

  Result<void> run(std::size_t place, const Step& step) {
    if (step.node >= problem_.nodes.size())
      return bad_input(fmt::format("step {}: there is no node {}", place, step.node));
    const Node& node = problem_.nodes[step.node];
    for (const NodeNumber operand : node.operands)
      if (!is_there_[operand])
        return bad_input(fmt::format("step {}: node {} reads node {}, whose value is not there",
                                     place, step.node, operand));
    if (is_there_[step.node])
      return bad_input(
          fmt::format("step {}: the value of node {} is there already", place, step.node));
    is_there_[step.node] = true;
    held_ += node.bytes;
    const Bytes during = held_ + node.workspace;
    if (limit_ && during > *limit_)
      return bad_input(
          fmt::format("step {}: {} bytes are more than the limit of {}", place, during, *limit_));
    replay_.during.push_back(during);
    replay_.peak = std::max(replay_.peak, during);
    replay_.seconds += node.seconds;
    ++replay_.runs[step.node];
    return free(place, step);
  }

  Result<Replay> end() {
    for (NodeNumber number = 0; number < problem_.nodes.size(); ++number)
      if (problem_.nodes[number].is_kept && !is_there_[number])
        return bad_input(fmt::format("the value of node {} is not there at the end", number));
    return std::move(replay_);
  }

 private:
  Result<void> free(std::size_t place, const Step& step) {
    for (const NodeNumber number : step.freed) {
      if (number >= problem_.nodes.size() || !is_there_[number])
        return bad_input(
            fmt::format("step {}: the value of node {} is freed, but not there", place, number));
      is_there_[number] = false;
      held_ -= problem_.nodes[number].bytes;
    }
    replay_.after.push_back(held_);
    return {};
  }

  const Problem& problem_;
  std::optional<Bytes> limit_;
  std::vector<bool> is_there_;
  Bytes held_ = 0;
  Replay replay_;
};

}  // namespace

Result<Replay> replay(const Problem& problem, const Plan& plan, std::optional<Bytes> limit) {
  Allocator allocator(problem, limit);
  for (std::size_t place = 0; place < plan.steps.size(); ++place)
    LEMMA_RETURN_IF_ERROR(allocator.run(place, plan.steps[place]));
  return allocator.end();
}

}  // namespace lemma::memory_plan
