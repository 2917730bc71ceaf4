#include "memory_plan/exact.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <unordered_map>

namespace lemma::memory_plan {

namespace {

using Set = std::uint64_t;

Set bit(NodeNumber number) { return Set{1} << number; }

template <typename Visit>
void for_each(Set set, const Visit& visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<NodeNumber>(std::countr_zero(set)));
}

/// The problem as sets.
struct Sets {
  explicit Sets(const Problem& problem) : nodes(problem.nodes) {
    const std::vector<bool> is_needed = needed_nodes(problem);
    operands.assign(nodes.size(), 0);
    users.assign(nodes.size(), 0);
    for (NodeNumber number = 0; number < nodes.size(); ++number) {
      if (!is_needed[number]) continue;
      needed |= bit(number);
      if (nodes[number].is_kept) kept |= bit(number);
      for (const NodeNumber operand : nodes[number].operands) {
        operands[number] |= bit(operand);
        users[operand] |= bit(number);
      }
    }
  }

  Bytes bytes(Set set) const {
    Bytes sum = 0;
    for_each(set, [&](NodeNumber number) { sum += nodes[number].bytes; });
    return sum;
  }

  /// Nodes that have to run yet, where these values are there.
  Set missing(Set there) const {
    Set result = 0, open = kept & ~there;
    while (open != 0) {
      const NodeNumber number = static_cast<NodeNumber>(std::countr_zero(open));
      open &= open - 1;
      result |= bit(number);
      open |= operands[number] & ~there & ~result;
    }
    return result;
  }

  double seconds(Set set) const {
    double sum = 0;
    for_each(set, [&](NodeNumber number) { sum += nodes[number].seconds; });
    return sum;
  }

  const std::vector<Node>& nodes;
  std::vector<Set> operands, users;
  Set needed = 0, kept = 0;
};

class Search {
 public:
  Search(const Problem& problem, Bytes limit, std::uint64_t most_states)
      : sets_(problem), limit_(limit), most_states_(most_states) {}

  ExactOutcome run() {
    reach(0, 0, 0, none);
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      const Reached here = reached_.at(entry.there);
      if (entry.spent > here.spent) continue;
      outcome_.seconds_bound = entry.estimate;
      if ((sets_.kept & ~entry.there) == 0) return ended(entry.there);
      if (++outcome_.states > most_states_) return outcome_;
      leave(entry.there, here.spent);
    }
    outcome_.answer = Answer::impossible;
    return outcome_;
  }

 private:
  static constexpr NodeNumber none = 0xffffffffU;
  struct Reached {
    double spent = 0;
    Set before = 0;
    NodeNumber ran = none;  // none: values were freed
  };
  struct Entry {
    double estimate = 0, spent = 0;
    Set there = 0;
    /// Of equal estimates, those that are nearer to the end first.
    bool operator<(const Entry& other) const {
      if (estimate != other.estimate) return estimate > other.estimate;
      if (spent != other.spent) return spent < other.spent;
      return there > other.there;
    }
  };

  void reach(Set there, double spent, Set before, NodeNumber ran) {
    const auto [place, is_new] = reached_.try_emplace(there, Reached{spent, before, ran});
    if (!is_new) {
      if (place->second.spent <= spent) return;
      place->second = {spent, before, ran};
    }
    queue_.push({spent + sets_.seconds(sets_.missing(there)), spent, there});
  }

  void leave(Set there, double spent) {
    const Bytes held = sets_.bytes(there);
    bool is_full = false;
    // Also what does not have to run from here on: a value may take less memory than what was made of it.
    for_each(sets_.needed & ~there, [&](NodeNumber number) {
      if ((sets_.operands[number] & ~there) != 0) return;
      if (held + sets_.nodes[number].bytes + sets_.nodes[number].workspace > limit_) {
        is_full = true;
        return;
      }
      reach(there | bit(number), spent + sets_.nodes[number].seconds, there, number);
    });
    // Values are freed only where that makes room.
    if (is_full)
      for_each(there, [&](NodeNumber number) { reach(there & ~bit(number), spent, there, none); });
  }

  ExactOutcome ended(Set there) {
    Sequence sequence;
    while (there != 0 || reached_.at(there).ran != none) {
      const Reached& last = reached_.at(there);
      if (last.ran != none) sequence.push_back(last.ran);
      there = last.before;
    }
    std::reverse(sequence.begin(), sequence.end());
    outcome_.sequence = std::move(sequence);
    outcome_.answer = Answer::optimal;
    return outcome_;
  }

  Sets sets_;
  Bytes limit_;
  std::uint64_t most_states_;
  std::unordered_map<Set, Reached> reached_;  // is only looked up
  std::priority_queue<Entry> queue_;
  ExactOutcome outcome_;
};

class OrderSearch {
 public:
  OrderSearch(const Problem& problem, std::uint64_t most_states)
      : sets_(problem), most_states_(most_states) {}

  ExactOutcome run() {
    reach(0, largest_of_all(), 0);
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (entry.peak > reached_.at(entry.done).peak) continue;
      outcome_.bytes_bound = entry.peak;
      if (entry.done == sets_.needed) return ended();
      if (++outcome_.states > most_states_) return outcome_;
      leave(entry);
    }
    return outcome_;
  }

 private:
  struct Reached {
    Bytes peak = 0;
    NodeNumber last = 0;
  };
  struct Entry {
    Bytes peak = 0;
    int left = 0;
    Set done = 0;
    bool operator<(const Entry& other) const {
      if (peak != other.peak) return peak > other.peak;
      if (left != other.left) return left > other.left;
      return done > other.done;
    }
  };

  /// Every order has this peak at least.
  Bytes largest_of_all() const {
    Bytes most = sets_.bytes(sets_.kept);
    for_each(sets_.needed, [&](NodeNumber number) {
      most = std::max(
          most, sets_.bytes(sets_.operands[number] | bit(number)) + sets_.nodes[number].workspace);
    });
    return most;
  }

  /// Values that something reads which has not run.
  Set live(Set done) const {
    Set result = 0;
    for_each(done, [&](NodeNumber number) {
      if ((sets_.kept & bit(number)) != 0 || (sets_.users[number] & ~done) != 0)
        result |= bit(number);
    });
    return result;
  }

  void reach(Set done, Bytes peak, NodeNumber last) {
    const auto [place, is_new] = reached_.try_emplace(done, Reached{peak, last});
    if (!is_new) {
      if (place->second.peak <= peak) return;
      place->second = {peak, last};
    }
    queue_.push({peak, std::popcount(sets_.needed & ~done), done});
  }

  void leave(const Entry& entry) {
    const Bytes held = sets_.bytes(live(entry.done));
    for_each(sets_.needed & ~entry.done, [&](NodeNumber number) {
      if ((sets_.operands[number] & ~entry.done) != 0) return;
      const Bytes during = held + sets_.nodes[number].bytes + sets_.nodes[number].workspace;
      reach(entry.done | bit(number), std::max(entry.peak, during), number);
    });
  }

  ExactOutcome ended() {
    Sequence sequence;
    for (Set done = sets_.needed; done != 0;) {
      const NodeNumber last = reached_.at(done).last;
      sequence.push_back(last);
      done &= ~bit(last);
    }
    std::reverse(sequence.begin(), sequence.end());
    outcome_.sequence = std::move(sequence);
    outcome_.answer = Answer::optimal;
    return outcome_;
  }

  Sets sets_;
  std::uint64_t most_states_;
  std::unordered_map<Set, Reached> reached_;
  std::priority_queue<Entry> queue_;
  ExactOutcome outcome_;
};

}  // namespace

ExactOutcome exact_plan(const Problem& problem, Bytes limit, std::uint64_t most_states) {
  if (problem.nodes.size() > most_exact_nodes) return {};
  return Search(problem, limit, most_states).run();
}

ExactOutcome least_memory_order(const Problem& problem, std::uint64_t most_states) {
  if (problem.nodes.size() > most_exact_nodes) return {};
  return OrderSearch(problem, most_states).run();
}

}  // namespace lemma::memory_plan
