#pragma once
// When saturation stops, and which rules take part in a round.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace lemma::engine {

enum class StopReason { saturated, nodes, iterations, time, memory, cancelled, failed };
std::string_view name(StopReason reason);

struct RoundLimits {
  std::size_t node_limit = 100'000;
  std::size_t iterations = 30;
  double time_limit_seconds = 30;
  std::size_t memory_limit_bytes = 2'000'000'000;
  /// A rule with more new matches than this in one iteration is not applied, and rests for
  /// `rest_iterations`; both double each time (the back-off scheduler of egg). 0: no limit.
  std::size_t match_limit = 10'000;
  std::size_t rest_iterations = 3;
  /// Asked now and then, also within an iteration and from several threads; true, which must remain
  /// so, ends the saturation.
  std::function<bool()> cancelled;
  /// Asked by the thread of the call alone, never while others look for matches, so that it may keep
  /// what it has found; true ends the saturation as `cancelled` does.
  std::function<bool()> is_reached;
};

/// Tells whether a limit has been reached, and remembers which.
class Watch {
 public:
  explicit Watch(const RoundLimits& limits) : limits_(limits) {}

  /// The time is asked for now and then only.
  template <typename Graph>
  bool exhausted(const Graph& egraph) {
    if (stopped_) return true;
    if (egraph.node_count() >= limits_.node_limit) return stop(StopReason::nodes);
    if (egraph.memory_bytes() >= limits_.memory_limit_bytes) return stop(StopReason::memory);
    return (++checks_ & 0x3fU) == 1 && interrupted();
  }
  bool interrupted();
  /// Always true.
  bool stop(StopReason reason);

  double seconds() const;
  /// May be asked by several threads.
  bool time_is_over() const { return seconds() >= limits_.time_limit_seconds; }
  bool is_cancelled() const { return limits_.cancelled && limits_.cancelled(); }
  bool stopped() const { return stopped_; }
  StopReason reason() const { return reason_; }

 private:
  const RoundLimits& limits_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  StopReason reason_ = StopReason::saturated;
  std::uint32_t checks_ = 0;
  bool stopped_ = false;
};

/// The back-off scheduler of egg: rules with too many matches rest.
class Scheduler {
 public:
  Scheduler(const RoundLimits& limits, std::size_t rules) : limits_(limits), states_(rules) {}

  /// All matches over nodes up to this time have been applied.
  std::uint32_t since(std::size_t rule) const { return states_[rule].since; }
  void applied(std::size_t rule, std::uint32_t time) { states_[rule].since = time; }
  bool rests(std::size_t rule, std::size_t iteration) const {
    return iteration < states_[rule].rests_until;
  }
  /// The most matches that the rule may have now.
  std::size_t match_limit(std::size_t rule) const;
  /// There were more.
  void rest(std::size_t rule, std::size_t iteration);
  void wake_all();
  std::size_t rest_count(std::size_t rule) const { return states_[rule].rests; }

 private:
  struct State {
    std::uint32_t since = 0;
    std::size_t rests_until = 0;  // iteration
    std::size_t rests = 0;
  };
  const RoundLimits& limits_;
  std::vector<State> states_;
};

/// One round: every search comes first, then every application, so that the order of rules does not
/// decide what they see.
struct Round {
  bool changed = false;   // the e-graph
  bool complete = false;  // no rule has matches left, or rests
};

/// Rounds until nothing new follows or a limit is reached; returns how many. `round(iteration, now)`
/// searches and applies; nodes changed after `now` are new to the next round. The e-graph is rebuilt
/// after each.
template <typename Graph, typename RunRound>
std::size_t run_rounds(Graph& egraph, const RoundLimits& limits, Watch& watch, Scheduler& scheduler,
                       const RunRound& round) {
  std::size_t iterations = 0;
  egraph.rebuild();
  while (!watch.exhausted(egraph) && !watch.interrupted()) {
    if (iterations >= limits.iterations) {
      watch.stop(StopReason::iterations);
      break;
    }
    const std::uint32_t now = egraph.clock();
    egraph.advance_clock();
    const Round done = round(iterations++, now);
    egraph.rebuild();
    if (watch.stopped() || (!done.changed && done.complete)) break;
    if (!done.changed) scheduler.wake_all();
  }
  return iterations;
}

}  // namespace lemma::engine
