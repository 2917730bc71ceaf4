#include "memory_plan/order.h"

#include <algorithm>
#include <memory>

#include "memory_plan/exact.h"
#include "memory_plan/replay.h"

namespace lemma::memory_plan {

namespace {

constexpr std::size_t beam_width = 24;
/// Nodes that may run next, that are looked at in one set.
constexpr std::size_t most_choices = 64;

/// A way to a set of nodes that have run.
struct Way {
  std::vector<std::uint32_t> open_users;  // by node: users that have not run
  std::vector<std::uint32_t> open_operands;
  std::vector<NodeNumber> ready;  // ascending
  Bytes held = 0, peak = 0;
  std::shared_ptr<const struct Link> last;
};
struct Link {
  NodeNumber node;
  std::shared_ptr<const Link> before;
};

/// A way with one node more.
struct Choice {
  std::size_t way = 0;
  NodeNumber node = 0;
  Bytes held = 0, peak = 0;
  std::uint64_t hash = 0;  // of the set
  bool operator<(const Choice& other) const {
    return std::tie(peak, held, hash, way, node) <
           std::tie(other.peak, other.held, other.hash, other.way, other.node);
  }
};

class Beam {
 public:
  explicit Beam(const Problem& problem)
      : problem_(problem), is_needed_(needed_nodes(problem)), users_(users_of(problem)) {
    Way begin;
    begin.open_users.assign(problem.nodes.size(), 0);
    begin.open_operands.assign(problem.nodes.size(), 0);
    for (NodeNumber number = 0; number < problem.nodes.size(); ++number) {
      if (!is_needed_[number]) continue;
      ++count_;
      std::erase_if(users_[number], [this](NodeNumber user) { return !is_needed_[user]; });
      begin.open_users[number] = static_cast<std::uint32_t>(users_[number].size());
      begin.open_operands[number] =
          static_cast<std::uint32_t>(problem.nodes[number].operands.size());
      if (problem.nodes[number].operands.empty()) begin.ready.push_back(number);
    }
    ways_.push_back(std::move(begin));
    hashes_.push_back(0);
  }

  Sequence run() {
    for (std::size_t step = 0; step < count_; ++step) advance();
    Sequence order;
    for (const Link* link = ways_.front().last.get(); link != nullptr; link = link->before.get())
      order.push_back(link->node);
    std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  static std::uint64_t hash_of(NodeNumber node) {
    std::uint64_t x = node + 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }

  Choice chosen(std::size_t number, NodeNumber node) const {
    const Way& way = ways_[number];
    const Node& record = problem_.nodes[node];
    Choice choice{number, node, way.held + record.bytes, 0, hashes_[number] ^ hash_of(node)};
    choice.peak = std::max(way.peak, choice.held + record.workspace);
    for (const NodeNumber operand : record.operands)
      if (way.open_users[operand] == 1 && !problem_.nodes[operand].is_kept)
        choice.held -= problem_.nodes[operand].bytes;
    if (way.open_users[node] == 0 && !record.is_kept) choice.held -= record.bytes;
    return choice;
  }

  void advance() {
    std::vector<Choice> choices;
    for (std::size_t number = 0; number < ways_.size(); ++number) {
      std::vector<Choice> of_way;
      for (const NodeNumber node : ways_[number].ready) of_way.push_back(chosen(number, node));
      std::sort(of_way.begin(), of_way.end());
      if (of_way.size() > most_choices) of_way.resize(most_choices);
      choices.insert(choices.end(), of_way.begin(), of_way.end());
    }
    std::sort(choices.begin(), choices.end());
    std::vector<Way> next;
    std::vector<std::uint64_t> hashes;
    for (const Choice& choice : choices) {
      if (next.size() == beam_width) break;
      if (std::find(hashes.begin(), hashes.end(), choice.hash) != hashes.end()) continue;
      next.push_back(with(choice));
      hashes.push_back(choice.hash);
    }
    ways_ = std::move(next);
    hashes_ = std::move(hashes);
  }

  Way with(const Choice& choice) const {
    Way way = ways_[choice.way];
    way.held = choice.held;
    way.peak = choice.peak;
    way.last = std::make_shared<const Link>(Link{choice.node, way.last});
    way.ready.erase(std::lower_bound(way.ready.begin(), way.ready.end(), choice.node));
    for (const NodeNumber operand : problem_.nodes[choice.node].operands) --way.open_users[operand];
    for (const NodeNumber user : users_[choice.node])
      if (--way.open_operands[user] == 0)
        way.ready.insert(std::lower_bound(way.ready.begin(), way.ready.end(), user), user);
    return way;
  }

  const Problem& problem_;
  std::vector<bool> is_needed_;
  std::vector<std::vector<NodeNumber>> users_;
  std::size_t count_ = 0;
  std::vector<Way> ways_;
  std::vector<std::uint64_t> hashes_;
};

Bytes peak_of(const Problem& problem, const Sequence& order) {
  return replay(problem, plan_of(problem, order))->peak;
}

}  // namespace

OrderOutcome low_memory_order(const Problem& problem, std::uint64_t most_states) {
  OrderOutcome outcome;
  outcome.bound = largest_working_set(problem);
  outcome.order = given_order(problem);
  outcome.peak = peak_of(problem, outcome.order);
  if (outcome.is_optimal()) return outcome;
  const ExactOutcome exact = least_memory_order(problem, most_states);
  outcome.bound = std::max(outcome.bound, exact.bytes_bound);
  Sequence other = exact.answer == Answer::optimal ? exact.sequence : Beam(problem).run();
  const Bytes peak = peak_of(problem, other);
  if (peak < outcome.peak) {
    outcome.peak = peak;
    outcome.order = std::move(other);
  }
  return outcome;
}

}  // namespace lemma::memory_plan
