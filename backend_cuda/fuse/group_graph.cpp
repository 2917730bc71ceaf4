#include "backend_cuda/fuse/group_graph.h"

#include <algorithm>
#include <queue>
#include <set>

namespace lemma::backend {

GroupGraph::GroupGraph(const DeltaEvaluator& evaluator) : evaluator_(&evaluator) {
  for (std::size_t i = 0; i < evaluator.readers().size(); ++i) {
    groups_of_.push_back(i);
    groups_.emplace_back(evaluator.alone(i));
  }
}

bool GroupGraph::can_join(const std::vector<std::size_t>& members) const {
  std::set<std::size_t> joined;
  for (const std::size_t member : members) joined.insert(groups_of_[member]);
  // From the groups that read theirs, no path may lead back.
  std::vector<std::size_t> open;
  std::set<std::size_t> seen;
  const auto follow = [&](std::size_t number, bool is_start) {
    for (const std::size_t member : groups_[number]->group.members)
      for (const std::size_t reader : evaluator_->readers()[member]) {
        const std::size_t next = groups_of_[reader];
        if (joined.contains(next)) {
          if (!is_start) return false;
        } else if (seen.insert(next).second) {
          open.push_back(next);
        }
      }
    return true;
  };
  for (const std::size_t number : joined) follow(number, true);
  // What comes after all members cannot lead back, unless through a group that begins before their last one.
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    if (!follow(next, false)) return false;
  }
  return true;
}

void GroupGraph::join(Pattern pattern) {
  const std::size_t number = groups_of_[pattern.group.members.front()];
  double gain = pattern.gain;
  for (const std::size_t member : pattern.group.members) {
    auto& old = groups_[groups_of_[member]];
    if (old) {
      gain -= old->gain;
      old.reset();
    }
    groups_of_[member] = number;
  }
  gain_ += gain;
  groups_[number] = std::move(pattern);
}

double GroupGraph::seconds() const {
  double sum = 0;
  for (const auto& group : groups_)
    if (group) sum += group->seconds;
  return sum;
}

std::vector<std::size_t> GroupGraph::neighbours(std::size_t number) const {
  std::set<std::size_t> result;
  for (const std::size_t member : groups_[number]->group.members)
    for (const auto* list : {&evaluator_->producers()[member], &evaluator_->readers()[member]})
      for (const std::size_t other : *list) result.insert(groups_of_[other]);
  result.erase(number);
  return {result.begin(), result.end()};
}

std::vector<Group> GroupGraph::ordered() const {
  std::vector<std::size_t> open(groups_.size(), 0);
  const auto inputs_of = [this](std::size_t number) {
    std::set<std::size_t> inputs;
    for (const std::size_t member : groups_[number]->group.members)
      for (const std::size_t producer : evaluator_->producers()[member])
        if (groups_of_[producer] != number) inputs.insert(groups_of_[producer]);
    return inputs;
  };
  std::vector<std::vector<std::size_t>> after(groups_.size());
  using Entry = std::pair<std::size_t, std::size_t>;  // the last member, and the group
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::size_t number = 0; number < groups_.size(); ++number) {
    if (!groups_[number]) continue;
    const std::set<std::size_t> inputs = inputs_of(number);
    open[number] = inputs.size();
    for (const std::size_t input : inputs) after[input].push_back(number);
    if (inputs.empty()) ready.emplace(groups_[number]->group.members.back(), number);
  }
  std::vector<Group> result;
  while (!ready.empty()) {
    const std::size_t number = ready.top().second;
    ready.pop();
    result.push_back(groups_[number]->group);
    for (const std::size_t next : after[number])
      if (--open[next] == 0) ready.emplace(groups_[next]->group.members.back(), next);
  }
  return result;
}

}  // namespace lemma::backend
