#include "backend/fuse/group_graph.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <unordered_set>
#include <utility>

namespace lemma::backend {

GroupGraph::GroupGraph(const DeltaEvaluator& evaluator)
    : evaluator_(&evaluator), made_(std::make_shared<std::deque<Pattern>>()) {
  const std::size_t count = evaluator.readers().size();
  std::vector<Number> order(count);
  std::iota(order.begin(), order.end(), Number{0});
  groups_of_ = order;
  for (std::size_t i = 0; i < count; ++i) groups_.push_back(&evaluator.alone(i));
  // By depth, little lies between a group and what it can be joined with, however long the model's layers are.
  std::stable_sort(order.begin(), order.end(), [&evaluator](Number a, Number b) {
    return evaluator.depths()[a] < evaluator.depths()[b];
  });
  positions_.resize(count);
  for (std::size_t i = 0; i < count; ++i) positions_[order[i]] = static_cast<Number>(i);
}

std::vector<GroupGraph::Number> GroupGraph::groups_of(
    const std::vector<std::size_t>& members) const {
  std::vector<Number> result;
  for (const std::size_t member : members) result.push_back(groups_of_[member]);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

/// `reached`: other groups between the first and the last position of the joined ones that paths lead to from them, in
/// one direction. False, with only some of them, if a path leads back. No path back has a group outside these
/// positions, so that none is looked for there.
bool GroupGraph::search(const std::vector<Number>& joined, Direction direction,
                        std::vector<Number>& reached) const {
  Number first = positions_[joined.front()], last = first;
  for (const Number number : joined) {
    first = std::min(first, positions_[number]);
    last = std::max(last, positions_[number]);
  }
  const auto& edges =
      direction == Direction::to_readers ? evaluator_->readers() : evaluator_->producers();
  std::unordered_set<Number> seen;
  const auto follow = [&](Number number, bool is_start) {
    for (const std::size_t member : groups_[number]->group.members)
      for (const std::size_t neighbour : edges[member]) {
        const Number next = groups_of_[neighbour];
        if (std::binary_search(joined.begin(), joined.end(), next)) {
          if (!is_start) return false;
        } else if (positions_[next] > first && positions_[next] < last &&
                   seen.insert(next).second) {
          reached.push_back(next);
        }
      }
    return true;
  };
  for (const Number number : joined) follow(number, true);
  for (std::size_t i = 0; i < reached.size(); ++i)
    if (!follow(reached[i], false)) return false;
  return true;
}

bool GroupGraph::can_join(const std::vector<std::size_t>& members) const {
  std::vector<Number> after;
  return search(groups_of(members), Direction::to_readers, after);
}

/// Gives the joined groups one position, after what they need and before what needs them, and moves only groups
/// between them (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", section 2).
void GroupGraph::place(const std::vector<Number>& joined, Number number) {
  std::vector<Number> before, after, free;
  search(joined, Direction::to_producers, before);
  search(joined, Direction::to_readers, after);
  for (const auto* list : {&joined, &std::as_const(before), &std::as_const(after)})
    for (const Number group : *list) free.push_back(positions_[group]);
  std::sort(free.begin(), free.end());
  const auto by_position = [this](Number a, Number b) { return positions_[a] < positions_[b]; };
  std::sort(before.begin(), before.end(), by_position);
  std::sort(after.begin(), after.end(), by_position);
  for (std::size_t i = 0; i < before.size(); ++i) positions_[before[i]] = free[i];
  positions_[number] = free[before.size()];
  for (std::size_t i = 0; i < after.size(); ++i)
    positions_[after[i]] = free[free.size() - after.size() + i];
}

void GroupGraph::join(Pattern pattern) {
  const std::vector<Number> joined = groups_of(pattern.group.members);
  const Number number = groups_of_[pattern.group.members.front()];
  place(joined, number);
  double gain = pattern.gain;
  for (const Number group : joined) {
    gain -= groups_[group]->gain;
    groups_[group] = nullptr;
  }
  gain_ += gain;
  for (const std::size_t member : pattern.group.members) groups_of_[member] = number;
  made_->push_back(std::move(pattern));
  groups_[number] = &made_->back();
}

double GroupGraph::seconds() const {
  double sum = 0;
  for (const Pattern* group : groups_)
    if (group != nullptr) sum += group->seconds;
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
    if (groups_[number] == nullptr) continue;
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
