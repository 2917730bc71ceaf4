#include "memory_plan/chain.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "memory_plan/evict.h"
#include "memory_plan/replay.h"

namespace lemma::memory_plan {

namespace {

constexpr double impossible = std::numeric_limits<double>::infinity();

/// The least time to reverse the steps from s to t - 1, where state s is in slots, with so many others free.
class Table {
 public:
  Table(const Chain& chain, std::uint32_t free)
      : steps_(static_cast<std::uint32_t>(chain.seconds.size())), free_(free), slots_(chain.slots) {
    if (slots_.empty()) slots_.assign(steps_, 1);
    sums_.assign(1, 0);
    for (const double seconds : chain.seconds) sums_.push_back(sums_.back() + seconds);
    best_.assign(std::size_t{steps_ + 1} * (steps_ + 1) * (free_ + 1), 0);
    cuts_.assign(best_.size(), 0);
    for (std::uint32_t length = 2; length <= steps_; ++length)
      for (std::uint32_t s = 0; s + length <= steps_; ++s)
        for (std::uint32_t room = 0; room <= free_; ++room) fill(s, s + length, room);
  }

  double best(std::uint32_t s, std::uint32_t t, std::uint32_t free) const {
    return best_[place(s, t, free)];
  }
  /// Up to which state the first advance goes.
  std::uint32_t cut(std::uint32_t s, std::uint32_t t, std::uint32_t free) const {
    return cuts_[place(s, t, free)];
  }
  std::uint32_t slots(std::uint32_t state) const { return slots_[state]; }

 private:
  std::size_t place(std::uint32_t s, std::uint32_t t, std::uint32_t free) const {
    return (std::size_t{s} * (steps_ + 1) + t) * (free_ + 1) + free;
  }

  void fill(std::uint32_t s, std::uint32_t t, std::uint32_t free) {
    // The last step alone, then the others: state t - 1 stays in hand.
    double least = sums_[t - 1] - sums_[s] + best(s, t - 1, free);
    std::uint32_t cut = t - 1;
    for (std::uint32_t k = s + 1; k + 1 < t; ++k) {
      if (slots_[k] > free) continue;
      const double seconds = sums_[k] - sums_[s] + best(k, t, free - slots_[k]) + best(s, k, free);
      if (seconds >= least) continue;
      least = seconds;
      cut = k;
    }
    best_[place(s, t, free)] = least;
    cuts_[place(s, t, free)] = cut;
  }

  std::uint32_t steps_, free_;
  std::vector<std::uint32_t> slots_;
  std::vector<double> sums_, best_;
  std::vector<std::uint32_t> cuts_;
};

/// Writes the actions of a table down. Segments wait on a stack, the next one last.
class Writer {
 public:
  explicit Writer(const Table& table) : table_(table) {}

  std::vector<ChainAction> run(std::uint32_t steps, std::uint32_t free) {
    open_.push_back({0, steps, free, false});
    while (!open_.empty()) {
      const Segment segment = open_.back();
      open_.pop_back();
      if (segment.is_release)
        add(ChainAction::Kind::release, segment.s);
      else
        write(segment);
    }
    return std::move(actions_);
  }

 private:
  struct Segment {
    std::uint32_t s = 0, t = 0, free = 0;
    bool is_release = false;  // of state s, instead
  };

  void add(ChainAction::Kind kind, std::uint32_t state) { actions_.push_back({kind, state}); }

  void write(const Segment& segment) {
    const auto [s, t, free, is_release] = segment;
    if (t == s) return;
    add(ChainAction::Kind::restore, s);
    if (t == s + 1) return add(ChainAction::Kind::reverse, s);
    const std::uint32_t cut = table_.cut(s, t, free);
    for (std::uint32_t state = s; state < cut; ++state) add(ChainAction::Kind::advance, state);
    open_.push_back({s, cut, free, false});
    if (cut == t - 1) return add(ChainAction::Kind::reverse, cut);
    add(ChainAction::Kind::store, cut);
    open_.push_back({cut, 0, 0, true});
    open_.push_back({cut, t, free - table_.slots(cut), false});
  }

  const Table& table_;
  std::vector<Segment> open_;
  std::vector<ChainAction> actions_;
};

}  // namespace

std::optional<ChainPlan> chain_plan(const Chain& chain, std::uint32_t slots) {
  const auto steps = static_cast<std::uint32_t>(chain.seconds.size());
  const std::uint32_t first = steps == 0 ? 0 : chain.slots.empty() ? 1 : chain.slots.front();
  if (slots < first) return std::nullopt;
  const Table table(chain, slots - first);
  return ChainPlan{table.best(0, steps, slots - first), Writer(table).run(steps, slots - first)};
}

Result<ChainReplay> replay(const Chain& chain, const ChainPlan& plan, std::uint32_t slots) {
  const auto steps = static_cast<std::uint32_t>(chain.seconds.size());
  const auto slots_of = [&chain](std::uint32_t state) {
    return chain.slots.empty() ? 1 : chain.slots[state];
  };
  ChainReplay result;
  if (steps == 0) return result;
  std::vector<bool> is_stored(steps, false);
  is_stored[0] = true;
  std::uint32_t held = slots_of(0), in_hand = 0, left = steps;
  for (std::size_t place = 0; place < plan.actions.size(); ++place) {
    const auto [kind, state] = plan.actions[place];
    const auto refuse = [&](std::string_view why) {
      return bad_input(fmt::format("action {}: state {}: {}", place, state, why));
    };
    if (state >= steps) return refuse("there is no such state");
    switch (kind) {
      case ChainAction::Kind::advance:
        if (in_hand != state) return refuse("it is not in hand");
        if (state + 1 >= steps) return refuse("it has no next one");
        ++in_hand;
        result.seconds += chain.seconds[state];
        break;
      case ChainAction::Kind::store:
        if (in_hand != state) return refuse("it is not in hand");
        if (is_stored[state]) return refuse("it is stored already");
        is_stored[state] = true;
        held += slots_of(state);
        break;
      case ChainAction::Kind::restore:
        if (!is_stored[state]) return refuse("it is not stored");
        in_hand = state;
        break;
      case ChainAction::Kind::release:
        if (!is_stored[state]) return refuse("it is not stored");
        is_stored[state] = false;
        held -= slots_of(state);
        break;
      case ChainAction::Kind::reverse:
        if (in_hand != state) return refuse("it is not in hand");
        if (state + 1 != left) return refuse("it is not its turn");
        --left;
        break;
    }
    if (held > slots) return refuse("there are too few slots");
    result.most_slots = std::max(result.most_slots, held);
  }
  if (left != 0) return bad_input(fmt::format("{} steps are not reversed", left));
  return result;
}

namespace {

constexpr std::size_t longest_chain = 160;
constexpr std::uint32_t units_of_memory = 96;

/// The parts of a problem that is a chain and what reads it backwards.
struct ChainParts {
  Sequence chain;                 // the states behind the first one, which takes no memory
  std::vector<Sequence> readers;  // by step: nodes that run while its end is there
};

std::optional<ChainParts> parts_of(const Problem& problem, const Sequence& order) {
  ChainParts parts;
  std::vector<std::size_t> step(problem.nodes.size(), 0);  // 0: not of the chain
  std::size_t place = 0;
  for (; place < order.size(); ++place) {
    const std::vector<NodeNumber>& operands = problem.nodes[order[place]].operands;
    const bool follows = parts.chain.empty()
                             ? operands.empty()
                             : operands.size() == 1 && operands.front() == parts.chain.back();
    if (!follows) break;
    parts.chain.push_back(order[place]);
    step[order[place]] = parts.chain.size();
  }
  if (parts.chain.size() < 2 || parts.chain.size() > longest_chain) return std::nullopt;
  parts.readers.resize(parts.chain.size());
  std::size_t now = parts.chain.size();
  for (; place < order.size(); ++place) {
    std::size_t highest = 0;
    for (const NodeNumber operand : problem.nodes[order[place]].operands)
      highest = std::max(highest, step[operand]);
    if (highest > now) return std::nullopt;
    if (highest > 0) now = highest;
    parts.readers[now - 1].push_back(order[place]);
  }
  return parts;
}

/// Runs of the chain's nodes as the plan advances, and what reads them in between.
Sequence sequence_of(const ChainParts& parts, const ChainPlan& plan) {
  // State i is the value of node i - 1 of the chain; a step that is reversed ends at the value that is there already, but
  // for the last one.
  Sequence sequence;
  for (const auto& [kind, state] : plan.actions) {
    if (kind == ChainAction::Kind::advance) sequence.push_back(parts.chain[state]);
    if (kind != ChainAction::Kind::reverse) continue;
    if (state + 1 == parts.chain.size()) sequence.push_back(parts.chain[state]);
    const Sequence& readers = parts.readers[state];
    sequence.insert(sequence.end(), readers.begin(), readers.end());
  }
  return sequence;
}

}  // namespace

std::optional<Sequence> chain_sequence(const Problem& problem, const Sequence& order, Bytes limit) {
  const auto parts = parts_of(problem, order);
  if (!parts) return std::nullopt;
  const double unit = static_cast<double>(limit) / units_of_memory;
  Chain chain;
  for (std::size_t state = 0; state < parts->chain.size(); ++state) {
    chain.seconds.push_back(problem.nodes[parts->chain[state]].seconds);
    chain.slots.push_back(
        state == 0 ? 0
                   : static_cast<std::uint32_t>(std::min<double>(
                         1 + units_of_memory,
                         static_cast<double>(problem.nodes[parts->chain[state - 1]].bytes) / unit +
                             0.999)));
  }
  const auto steps = static_cast<std::uint32_t>(chain.seconds.size());
  const Table table(chain, units_of_memory);
  std::optional<Sequence> best;
  double least = impossible;
  for (std::uint32_t slots = 0; slots <= units_of_memory; ++slots) {
    const Sequence sequence =
        sequence_of(*parts, {table.best(0, steps, slots), Writer(table).run(steps, slots)});
    if (!replay(problem, plan_of(problem, sequence), limit)) continue;
    Sequence shorter = without_needless_runs(problem, sequence, limit);
    const double seconds = replay(problem, plan_of(problem, shorter))->seconds;
    if (seconds >= least) continue;
    least = seconds;
    best = std::move(shorter);
  }
  return best;
}

}  // namespace lemma::memory_plan
