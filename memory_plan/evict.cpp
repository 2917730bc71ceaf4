#include "memory_plan/evict.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "memory_plan/replay.h"

namespace lemma::memory_plan {

namespace {

/// Nodes that are looked at to tell what it takes to compute a value again.
constexpr std::size_t most_looked_at = 24;

class Evictor {
 public:
  Evictor(const Problem& problem, const Sequence& order, Bytes limit, const EvictionRule& rule)
      : problem_(problem),
        order_(order),
        limit_(limit),
        rule_(rule),
        places_(problem.nodes.size(), 0),
        uses_(problem.nodes.size()),
        next_(problem.nodes.size(), 0),
        is_there_(problem.nodes.size(), false),
        needs_(problem.nodes.size(), 0),
        seen_(problem.nodes.size(), 0),
        place_there_(problem.nodes.size(), 0) {
    for (std::size_t place = 0; place < order.size(); ++place) {
      places_[order[place]] = place;
      for (const NodeNumber operand : problem.nodes[order[place]].operands)
        uses_[operand].push_back(place);
    }
    for (const NodeNumber number : order)
      if (problem.nodes[number].is_kept) {
        uses_[number].push_back(order.size());
        kept_.push_back(number);
      }
    rent_.assign(order.size() + 2, 0);
    for (std::size_t place = 0; place <= order.size(); ++place)
      rent_[place + 1] =
          rent_[place] + (place < rule.prices.size() ? rule.prices[place] + 1e-30 : 1e-30);
    if (rule.prices.empty())
      for (std::size_t place = 0; place < rent_.size(); ++place)
        rent_[place] = static_cast<double>(place);
  }

  std::optional<Sequence> run() {
    for (place_ = 0; place_ < order_.size(); ++place_) {
      const NodeNumber number = order_[place_];
      if (!make_there(problem_.nodes[number].operands, number)) return std::nullopt;
    }
    if (!make_there(kept_, std::nullopt)) return std::nullopt;
    return std::move(sequence_);
  }

 private:
  /// Computes values that are not there, and what they need, then the node.
  bool make_there(const std::vector<NodeNumber>& values, std::optional<NodeNumber> node) {
    std::vector<NodeNumber> runs = missing(values);
    std::sort(runs.begin(), runs.end(),
              [this](NodeNumber a, NodeNumber b) { return places_[a] < places_[b]; });
    for (const NodeNumber run : runs)
      for (const NodeNumber operand : problem_.nodes[run].operands) ++needs_[operand];
    for (const NodeNumber value : values) ++needs_[value];
    bool fits = true;
    for (std::size_t i = 0; i < runs.size() && fits; ++i) fits = run_node(runs[i]);
    if (fits && node) fits = run_node(*node, values);
    return fits;
  }

  std::vector<NodeNumber> missing(const std::vector<NodeNumber>& values) {
    ++search_;
    std::vector<NodeNumber> result;
    const auto add = [&](NodeNumber value) {
      if (is_there_[value] || seen_[value] == search_) return;
      seen_[value] = search_;
      result.push_back(value);
    };
    for (const NodeNumber value : values) add(value);
    for (std::size_t i = 0; i < result.size(); ++i)
      for (const NodeNumber operand : problem_.nodes[result[i]].operands) add(operand);
    return result;
  }

  bool run_node(NodeNumber number) { return run_node(number, problem_.nodes[number].operands); }

  bool run_node(NodeNumber number, const std::vector<NodeNumber>& operands) {
    const Node& node = problem_.nodes[number];
    if (held_ + node.bytes + node.workspace > limit_ && !make_room(node.bytes + node.workspace))
      return false;
    sequence_.push_back(number);
    appear(number);
    for (const NodeNumber operand : operands) {
      --needs_[operand];
      free_if_unused(operand);
    }
    free_if_unused(number);
    return true;
  }

  void appear(NodeNumber number) {
    is_there_[number] = true;
    held_ += problem_.nodes[number].bytes;
    place_there_[number] = there_.size();
    there_.push_back(number);
  }

  void disappear(NodeNumber number) {
    is_there_[number] = false;
    held_ -= problem_.nodes[number].bytes;
    const std::size_t place = place_there_[number];
    there_[place] = there_.back();
    place_there_[there_[place]] = place;
    there_.pop_back();
  }

  /// The next place after this one that needs a value; nothing: none does.
  std::optional<std::size_t> next_use(NodeNumber number) {
    const std::vector<std::size_t>& uses = uses_[number];
    while (next_[number] < uses.size() && uses[next_[number]] <= place_) ++next_[number];
    if (next_[number] == uses.size()) return std::nullopt;
    return uses[next_[number]];
  }

  void free_if_unused(NodeNumber number) {
    if (is_there_[number] && needs_[number] == 0 && !next_use(number)) disappear(number);
  }

  /// What it takes to compute the value again now.
  double seconds_again(NodeNumber number) {
    ++search_;
    stack_.assign(1, number);
    seen_[number] = search_;
    double sum = 0;
    for (std::size_t i = 0; i < stack_.size() && i < most_looked_at; ++i) {
      sum += problem_.nodes[stack_[i]].seconds;
      for (const NodeNumber operand : problem_.nodes[stack_[i]].operands) {
        if (is_there_[operand] || seen_[operand] == search_) continue;
        seen_[operand] = search_;
        stack_.push_back(operand);
      }
    }
    return sum;
  }

  double score(NodeNumber number) {
    const double rent = rule_.ignores_distance
                            ? 1
                            : rent_[next_use(number).value_or(order_.size())] - rent_[place_];
    const double bytes = static_cast<double>(problem_.nodes[number].bytes);
    const double weight = rule_.weights.empty() ? 1 : rule_.weights[number];
    return weight * seconds_again(number) / (bytes * std::max(rent, 1e-30));
  }

  /// Evicts what scores least until so many bytes are free; each eviction counts what went before it only in the next call.
  bool make_room(Bytes bytes) {
    scores_.clear();
    for (const NodeNumber number : there_)
      if (needs_[number] == 0 && problem_.nodes[number].bytes > 0)
        scores_.emplace_back(score(number), number);
    std::sort(scores_.begin(), scores_.end());
    for (const auto& [least, number] : scores_) {
      if (held_ + bytes <= limit_) return true;
      disappear(number);
    }
    return held_ + bytes <= limit_;
  }

  const Problem& problem_;
  const Sequence& order_;
  Bytes limit_;
  const EvictionRule& rule_;
  std::vector<std::size_t> places_;
  std::vector<std::vector<std::size_t>> uses_;  // places of the order; its end for what is kept
  std::vector<std::size_t> next_;
  std::vector<bool> is_there_;
  std::vector<std::uint32_t> needs_;  // of nodes that are about to run
  std::vector<std::uint64_t> seen_;   // by which search
  std::vector<std::size_t> place_there_;
  std::vector<NodeNumber> kept_, there_, stack_;
  std::vector<double> rent_;
  std::vector<std::pair<double, NodeNumber>> scores_;
  std::uint64_t search_ = 0;
  std::size_t place_ = 0;
  Bytes held_ = 0;
  Sequence sequence_;
};

/// A run of a node that has run before, and the last place that used the value it had then.
struct Repeat {
  std::size_t place = 0, last_use = 0;
};

class Pruner {
 public:
  Pruner(const Problem& problem, Sequence sequence, Bytes limit)
      : problem_(problem), sequence_(std::move(sequence)), limit_(limit) {}

  Sequence run() {
    while (true) {
      drop_unused();
      if (!drop_one_each()) return std::move(sequence_);
    }
  }

 private:
  /// Runs whose value nothing reads.
  void drop_unused() {
    const Plan plan = plan_of(problem_, sequence_);
    // From the end, so that what only they read goes as well.
    std::vector<bool> is_wanted(problem_.nodes.size(), false);
    for (NodeNumber number = 0; number < problem_.nodes.size(); ++number)
      is_wanted[number] = problem_.nodes[number].is_kept;
    Sequence kept;
    for (std::size_t place = sequence_.size(); place-- > 0;) {
      const NodeNumber number = sequence_[place];
      if (!is_wanted[number]) continue;
      is_wanted[number] = false;
      for (const NodeNumber operand : problem_.nodes[number].operands) is_wanted[operand] = true;
      kept.push_back(number);
    }
    std::reverse(kept.begin(), kept.end());
    sequence_ = std::move(kept);
  }

  /// Repeats whose values are kept instead, as many as there is room for. False: none.
  bool drop_one_each() {
    const auto replayed = replay(problem_, plan_of(problem_, sequence_));
    std::vector<Bytes> during = replayed->during;
    std::vector<Repeat> repeats = repeats_of();
    std::vector<bool> is_dropped(sequence_.size(), false);
    bool any = false;
    for (const Repeat& repeat : repeats) {
      const Bytes bytes = problem_.nodes[sequence_[repeat.place]].bytes;
      bool fits = true;
      for (std::size_t place = repeat.last_use + 1; place < repeat.place && fits; ++place)
        fits = during[place] + bytes <= limit_;
      if (!fits) continue;
      for (std::size_t place = repeat.last_use + 1; place < repeat.place; ++place)
        during[place] += bytes;
      is_dropped[repeat.place] = true;
      any = true;
    }
    Sequence rest;
    for (std::size_t place = 0; place < sequence_.size(); ++place)
      if (!is_dropped[place]) rest.push_back(sequence_[place]);
    sequence_ = std::move(rest);
    return any;
  }

  /// The most expensive first. Of each node, what is between two runs does not change when others are dropped, except
  /// that values which dropped runs read may be freed earlier.
  std::vector<Repeat> repeats_of() const {
    constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> last(problem_.nodes.size(), never);
    std::vector<Repeat> repeats;
    for (std::size_t place = 0; place < sequence_.size(); ++place) {
      const NodeNumber number = sequence_[place];
      for (const NodeNumber operand : problem_.nodes[number].operands) last[operand] = place;
      if (last[number] != never) repeats.push_back({place, last[number]});
      last[number] = place;
    }
    const auto seconds = [this](const Repeat& repeat) {
      return problem_.nodes[sequence_[repeat.place]].seconds;
    };
    std::stable_sort(repeats.begin(), repeats.end(),
                     [&](const Repeat& a, const Repeat& b) { return seconds(a) > seconds(b); });
    return repeats;
  }

  const Problem& problem_;
  Sequence sequence_;
  Bytes limit_;
};

}  // namespace

std::optional<Sequence> sequence_by_eviction(const Problem& problem, const Sequence& order,
                                             Bytes limit, const EvictionRule& rule) {
  return Evictor(problem, order, limit, rule).run();
}

Sequence without_needless_runs(const Problem& problem, Sequence sequence, Bytes limit) {
  return Pruner(problem, std::move(sequence), limit).run();
}

}  // namespace lemma::memory_plan
