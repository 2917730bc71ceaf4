#include "egraph/exact/start.h"

#include <algorithm>
#include <queue>
#include <random>

#include "egraph/exact/bit_matrix.h"

namespace lemma::exact {

namespace {

constexpr std::size_t most_classes_with_sets = 12000;

using Choice = std::vector<std::uint32_t>;

std::vector<std::vector<std::uint32_t>> users_by_class(const Problem& problem) {
  std::vector<std::vector<std::uint32_t>> users(problem.class_count);
  for (std::uint32_t i = 0; i < problem.nodes.size(); ++i)
    for (const std::uint32_t child : problem.nodes[i].children) users[child].push_back(i);
  return users;
}

double price(const Node& node) { return node.cost > 0 ? static_cast<double>(node.cost) : 0; }

void keep_better(std::optional<Selection>& best, std::optional<Selection> candidate) {
  if (candidate && (!best || candidate->cost < best->cost)) best = std::move(candidate);
}

/// Each class keeps the set of classes that its choice needs, and chooses the node for which the set
/// costs least; a class that gets cheaper makes its users choose anew. Sets may be out of date, so
/// the result may run in circles; then it is of no use.
class SetGreedy {
 public:
  explicit SetGreedy(const Problem& problem)
      : problem_(problem),
        users_(users_by_class(problem)),
        sets_(problem.class_count, problem.class_count),
        choice_(problem.class_count, none),
        total_(problem.class_count, 0) {}

  /// The choice so far if the limit is reached.
  Choice run(const Limit& limit) {
    std::vector<char> queued(problem_.nodes.size(), 0);
    std::queue<std::uint32_t> queue;
    for (std::uint32_t i = 0; i < problem_.nodes.size(); ++i)
      if (problem_.nodes[i].children.empty()) queue.push(i);
    std::size_t steps = 60 * problem_.nodes.size() + 1000;
    while (!queue.empty() && steps-- > 0 && !limit.reached()) {
      const std::uint32_t number = queue.front();
      queue.pop();
      queued[number] = 0;
      if (!try_node(number)) continue;
      for (const std::uint32_t user : users_[problem_.nodes[number].owner])
        if (queued[user] == 0) {
          queued[user] = 1;
          queue.push(user);
        }
    }
    return choice_;
  }

 private:
  bool try_node(std::uint32_t number) {
    const Node& node = problem_.nodes[number];
    std::vector<BitMatrix::Word> set(sets_.words(), 0);
    for (const std::uint32_t child : node.children) {
      if (choice_[child] == none) return false;
      add_bits(set, sets_[child]);
    }
    if (test_bit(set, node.owner)) return false;
    double total = price(node);
    for_each_bit(set, [&](std::uint32_t id) { total += price(problem_.nodes[choice_[id]]); });
    if (choice_[node.owner] != none && total >= total_[node.owner]) return false;
    total_[node.owner] = total;
    choice_[node.owner] = number;
    set_bit(set, node.owner);
    std::copy(set.begin(), set.end(), sets_[node.owner].begin());
    return true;
  }

  const Problem& problem_;
  std::vector<std::vector<std::uint32_t>> users_;
  BitMatrix sets_;
  Choice choice_;
  std::vector<double> total_;
};

/// Trees again and again, with classes counting the less the more users they had.
void share_costs(const Problem& problem, std::optional<Selection>& best, const Limit& limit) {
  constexpr int rounds = 24;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> noise(0.7, 1.3);
  std::vector<double> weight(problem.class_count, 1);
  for (int round = 0; round < rounds && !limit.reached(); ++round) {
    std::vector<std::uint32_t> uses(problem.class_count, 0);
    for (const std::uint32_t number : best->node_of)
      if (number != none)
        for (const std::uint32_t child : problem.nodes[number].children) ++uses[child];
    for (std::uint32_t id = 0; id < problem.class_count; ++id) {
      weight[id] = uses[id] > 1 ? 1.0 / uses[id] : 1.0;
      if (round > 0) weight[id] *= noise(random);
    }
    keep_better(best, finished_selection(problem, cheapest_trees(problem, weight)));
  }
}

}  // namespace

std::vector<std::uint32_t> cheapest_trees(const Problem& problem,
                                          const std::vector<double>& weight) {
  constexpr double largest = 1e300;  // sums of shared operands grow exponentially
  const auto users = users_by_class(problem);
  Choice choice(problem.class_count, none);
  std::vector<double> sum;
  std::vector<std::uint32_t> missing;
  using Entry = std::pair<double, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (std::uint32_t i = 0; i < problem.nodes.size(); ++i) {
    sum.push_back(price(problem.nodes[i]));
    missing.push_back(static_cast<std::uint32_t>(problem.nodes[i].children.size()));
    if (missing[i] == 0) queue.emplace(sum[i], i);
  }
  while (!queue.empty()) {
    const auto [cost, number] = queue.top();
    queue.pop();
    const std::uint32_t id = problem.nodes[number].owner;
    if (choice[id] != none) continue;
    choice[id] = number;
    for (const std::uint32_t user : users[id]) {
      sum[user] = std::min(largest, sum[user] + weight[id] * cost);
      if (--missing[user] == 0) queue.emplace(sum[user], user);
    }
  }
  return choice;
}

std::vector<std::uint32_t> cheap_choice(const Problem& problem, const Limit& limit) {
  Choice trees = cheapest_trees(problem, std::vector<double>(problem.class_count, 1));
  if (problem.class_count > most_classes_with_sets) return trees;
  Choice sets = SetGreedy(problem).run(limit);
  Problem all = problem;  // every class that can be chosen is a root: is there a cycle anywhere?
  all.roots.clear();
  for (std::uint32_t id = 0; id < problem.class_count; ++id) {
    if (sets[id] == none) sets[id] = trees[id];
    if (sets[id] != none) all.roots.push_back(id);
  }
  return finished_selection(all, sets) ? sets : trees;
}

Selection improve(const Problem& problem, Selection selection, std::size_t rounds,
                  const Limit& limit) {
  const auto nodes_of = problem.nodes_by_class();
  const Choice fallback = cheapest_trees(problem, std::vector<double>(problem.class_count, 1));
  std::mt19937_64 random(7);
  Selection best = selection;
  const auto complete = [&](const Selection& from) {
    Choice choice = from.node_of;
    for (std::uint32_t id = 0; id < choice.size(); ++id)
      if (choice[id] == none) choice[id] = fallback[id];
    return choice;
  };
  std::vector<std::uint32_t> open;  // classes with a choice
  for (std::uint32_t id = 0; id < problem.class_count; ++id)
    if (nodes_of[id].size() > 1) open.push_back(id);
  // Effort: each candidate is looked at in full.
  std::size_t steps = 40'000'000 / (problem.nodes.size() + 1) + 200;
  for (std::size_t round = 0; round <= rounds && steps > 0 && !open.empty(); ++round) {
    if (round > 0) {
      Choice choice = complete(best);
      for (std::size_t kicks = 2 + round % 4; kicks-- > 0;) {
        const std::uint32_t id = open[random() % open.size()];
        choice[id] = nodes_of[id][random() % nodes_of[id].size()];
      }
      auto kicked = finished_selection(problem, choice);
      if (!kicked) continue;
      selection = std::move(*kicked);
    }
    bool better = true;
    while (better && steps > 0) {
      better = false;
      for (const std::uint32_t id : open) {
        if (limit.reached()) steps = 0;
        if (steps == 0) break;
        if (selection.node_of[id] == none) continue;
        Choice choice = complete(selection);
        for (const std::uint32_t number : nodes_of[id]) {
          if (number == selection.node_of[id] || steps == 0) continue;
          --steps;
          choice[id] = number;
          auto candidate = finished_selection(problem, choice);
          if (candidate && candidate->cost < selection.cost) {
            selection = std::move(*candidate);
            better = true;
            break;
          }
        }
      }
    }
    if (selection.cost < best.cost) best = selection;
  }
  return best;
}

std::optional<Selection> start_selection(const Problem& problem, const Limit& limit) {
  std::optional<Selection> best;
  keep_better(best,
              finished_selection(
                  problem, cheapest_trees(problem, std::vector<double>(problem.class_count, 1))));
  if (!best) return best;
  if (problem.class_count <= most_classes_with_sets && !limit.reached())
    keep_better(best, finished_selection(problem, SetGreedy(problem).run(limit)));
  share_costs(problem, best, limit);
  return improve(problem, std::move(*best), 60, limit);
}

}  // namespace lemma::exact
