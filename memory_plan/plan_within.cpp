#include "memory_plan/plan_within.h"

#include <algorithm>
#include <optional>
#include <random>

#include "memory_plan/bound.h"
#include "memory_plan/chain.h"
#include "memory_plan/evict.h"
#include "memory_plan/exact.h"
#include "memory_plan/order.h"
#include "memory_plan/replay.h"

namespace lemma::memory_plan {

namespace {

class Planner {
 public:
  Planner(const Problem& problem, Bytes limit, const PlanOptions& options)
      : problem_(problem), limit_(limit), options_(options) {}

  Outcome run() {
    outcome_.least_bytes = largest_working_set(problem_);
    outcome_.seconds_bound = least_seconds(problem_);
    if (outcome_.least_bytes > limit_) return outcome_;
    const OrderOutcome order = low_memory_order(problem_, options_.most_exact_states);
    orders_ = {given_order(problem_), order.order};
    for (const Sequence& each_once : orders_)
      if (offer(each_once, Method::order_alone)) return outcome_;
    if (solve_exactly()) return outcome_;
    if (orders_[1] == orders_[0]) orders_.pop_back();
    search();
    bound();
    return outcome_;
  }

 private:
  /// Takes a sequence that fits and is cheaper than the best one.
  bool offer(const Sequence& sequence, Method method) {
    const auto replayed = replay(problem_, plan_of(problem_, sequence), limit_);
    if (!replayed) return false;
    if (outcome_.is_found() && replayed->seconds >= outcome_.seconds) return false;
    outcome_.sequence = sequence;
    outcome_.seconds = replayed->seconds;
    outcome_.peak = replayed->peak;
    outcome_.method = method;
    return true;
  }

  /// Whether the exact search came to an end.
  bool solve_exactly() {
    const ExactOutcome exact = exact_plan(problem_, limit_, options_.most_exact_states);
    outcome_.seconds_bound = std::max(outcome_.seconds_bound, exact.seconds_bound);
    if (exact.answer == Answer::optimal) offer(exact.sequence, Method::exact);
    if (exact.answer == Answer::impossible) outcome_.least_bytes = limit_ + 1;
    return exact.answer != Answer::given_up;
  }

  void search() {
    for (const Sequence& order : orders_) {
      if (const auto chain = chain_sequence(problem_, order, limit_)) offer(*chain, Method::chain);
      const std::vector<double> prices = priced_bound(problem_, order, limit_).prices;
      for (const EvictionRule& rule :
           {EvictionRule{}, EvictionRule{prices, {}, false}, EvictionRule{{}, {}, true}})
        evict(order, rule);
    }
    if (best_order_) improve();
  }

  /// The seconds of the plan that a rule gives; nothing: none.
  std::optional<double> evict(const Sequence& order, const EvictionRule& rule) {
    const auto sequence = sequence_by_eviction(problem_, order, limit_, rule);
    if (!sequence) return std::nullopt;
    const Sequence shorter = without_needless_runs(problem_, *sequence, limit_);
    steps_ += sequence->size();
    const auto replayed = replay(problem_, plan_of(problem_, shorter), limit_);
    if (!replayed) return std::nullopt;
    offer(shorter, Method::eviction);
    if (!best_order_ || replayed->seconds < best_seconds_) {
      best_order_ = &order;
      best_rule_ = rule;
      best_seconds_ = replayed->seconds;
    }
    return replayed->seconds;
  }

  /// Other weights of a few values; what is no worse is the next to be changed.
  void improve() {
    std::mt19937 random(1);
    const Sequence& order = *best_order_;
    EvictionRule rule = best_rule_;
    double seconds = best_seconds_;
    if (rule.weights.empty()) rule.weights.assign(problem_.nodes.size(), 1);
    for (int round = 0; round < options_.rounds && steps_ < options_.most_steps; ++round) {
      EvictionRule changed = rule;
      const std::size_t changes = 1 + random() % 4;
      for (std::size_t i = 0; i < changes; ++i)
        changed.weights[order[random() % order.size()]] *= random() % 2 == 0 ? 4 : 0.25;
      const auto of_changed = evict(order, changed);
      if (!of_changed || *of_changed > seconds) continue;
      seconds = *of_changed;
      rule = std::move(changed);
    }
  }

  /// Of the order in which nodes of the best plan run for the first time.
  void bound() {
    if (!outcome_.is_found()) return;
    std::vector<bool> has_run(problem_.nodes.size(), false);
    for (const NodeNumber number : outcome_.sequence) {
      if (!has_run[number]) outcome_.order.push_back(number);
      has_run[number] = true;
    }
    const double seconds =
        priced_bound(problem_, outcome_.order, limit_, options_.rounds == 0 ? 0 : 2000).seconds;
    if (seconds <= outcome_.seconds_bound) return;
    outcome_.seconds_bound = std::min(seconds, outcome_.seconds);
    outcome_.bounds_order = true;
  }

  const Problem& problem_;
  const Bytes limit_;
  const PlanOptions& options_;
  std::vector<Sequence> orders_;
  const Sequence* best_order_ = nullptr;
  EvictionRule best_rule_;
  double best_seconds_ = 0;
  std::uint64_t steps_ = 0;
  Outcome outcome_;
};

}  // namespace

std::string_view name(Method method) {
  switch (method) {
    case Method::order_alone: return "order alone";
    case Method::exact: return "exact search";
    case Method::chain: return "dynamic programming over a chain";
    case Method::eviction: return "eviction and local search";
  }
  return "";
}

bool Outcome::is_optimal() const {
  return is_found() && !bounds_order && seconds <= seconds_bound * (1 + 1e-9);
}

Outcome plan_within(const Problem& problem, Bytes limit, const PlanOptions& options) {
  return Planner(problem, limit, options).run();
}

Bytes least_limit(const Problem& problem) {
  Bytes fits = low_memory_order(problem, quick_look.most_exact_states).peak;
  Bytes fails = largest_working_set(problem);
  if (const Outcome outcome = plan_within(problem, fails, quick_look); outcome.is_found())
    return outcome.peak;
  while (fits - fails > std::max<Bytes>(1, fits / 100)) {
    const Bytes middle = fails + (fits - fails) / 2;
    const Outcome outcome = plan_within(problem, middle, quick_look);
    if (outcome.is_found())
      fits = outcome.peak;
    else
      fails = middle;
  }
  return fits;
}

}  // namespace lemma::memory_plan
