#include "egraph/saturation.h"

#include <chrono>
#include <limits>

#include <fmt/format.h>

namespace lemma {

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::saturated: return "saturated";
    case StopReason::nodes: return "nodes";
    case StopReason::iterations: return "iterations";
    case StopReason::time: return "time";
    case StopReason::memory: return "memory";
    case StopReason::cancelled: return "cancelled";
    case StopReason::failed: return "failed";
  }
  return "?";
}

namespace {

class Saturation {
 public:
  Saturation(EGraph& egraph, std::span<const CompiledRule> rules, const SaturationLimits& limits)
      : egraph_(egraph), limits_(limits), states_(rules.size()) {
    for (const CompiledRule& rule : rules) matchers_.emplace_back(rule);
    report_.rules.resize(rules.size());
  }

  SaturationReport run() {
    egraph_.rebuild();
    while (iterate()) {
    }
    egraph_.rebuild();
    for (std::size_t i = 0; i < matchers_.size(); ++i)
      report_.rules[i].rejected = matchers_[i].rejected();
    report_.seconds = elapsed();
    return std::move(report_);
  }

 private:
  struct RuleState {
    std::uint32_t since = 0;      // all matches over nodes up to this time have been applied
    std::size_t rests_until = 0;  // iteration
    std::size_t runs = 0;
  };

  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  bool stop(StopReason reason) {
    report_.stop = reason;
    stopped_ = true;
    return true;
  }

  /// Whether a limit has been reached; says which in the report.
  bool exhausted() {
    if (stopped_) return true;
    if (egraph_.node_count() >= limits_.max_nodes) return stop(StopReason::nodes);
    if (egraph_.memory_bytes() >= limits_.max_bytes) return stop(StopReason::memory);
    return (++checks_ & 0x3fU) == 1 && interrupted();
  }
  bool interrupted() {
    if (stopped_) return true;
    if (elapsed() >= limits_.max_seconds) return stop(StopReason::time);
    if (limits_.cancelled && limits_.cancelled()) return stop(StopReason::cancelled);
    return false;
  }

  /// One round of all rules: first every search, then every application, so that the order of rules
  /// does not decide what they see. False at the end.
  bool iterate() {
    if (exhausted() || interrupted()) return false;
    if (report_.iterations >= limits_.max_iterations) {
      stop(StopReason::iterations);
      return false;
    }
    const std::size_t iteration = report_.iterations++;
    const std::uint32_t now = egraph_.clock();
    egraph_.advance_clock();  // what is changed from here on is new to the next round
    std::vector<MatchList> matches(matchers_.size());
    bool waiting = false;
    for (std::size_t i = 0; i < matchers_.size() && !stopped_; ++i)
      waiting = !search(i, iteration, now, matches[i]) || waiting;
    bool changed = false;
    for (std::size_t i = 0; i < matchers_.size() && !stopped_; ++i)
      changed = apply(i, matches[i]) || changed;
    egraph_.rebuild();
    if (stopped_) return false;
    if (changed) return true;
    if (!waiting) return false;
    for (RuleState& state : states_) state.rests_until = 0;
    return true;
  }

  /// False if the rule has matches left for a later iteration.
  bool search(std::size_t i, std::size_t iteration, std::uint32_t now, MatchList& matches) {
    RuleState& state = states_[i];
    RuleStatistics& statistics = report_.rules[i];
    const bool multi_output = matchers_[i].rule().left_variables.size() > 1;
    if (multi_output && state.runs >= limits_.multi_output_iterations) return true;
    if (iteration < state.rests_until) return false;
    const std::size_t limit = limits_.match_limit == 0
                                  ? std::numeric_limits<std::size_t>::max()
                                  : limits_.match_limit
                                        << std::min<std::size_t>(statistics.rests, 20);
    const double before = elapsed();
    const bool complete = matchers_[i].search(
        egraph_, state.since, limit, [this] { return interrupted(); }, matches);
    statistics.seconds += elapsed() - before;
    if (!complete) {
      matches.clear();
      if (stopped_) return false;
      state.rests_until =
          iteration + 1 + (limits_.rest_iterations << std::min<std::size_t>(statistics.rests, 20));
      ++statistics.rests;
      return false;
    }
    ++state.runs;
    state.since = now;
    statistics.matches += matches.size();
    return true;
  }

  bool apply(std::size_t i, const MatchList& matches) {
    bool changed = false;
    constexpr std::size_t ahead = 8;
    const std::size_t count = matches.size();
    for (std::size_t k = 0; k < count; ++k) {
      if (exhausted()) break;
      if (k + ahead < count)
        matchers_[i].prefetch(egraph_, matches.classes(k + ahead), matches.bound(k + ahead));
      changed = apply(i, matches.classes(k), matches.bound(k)) || changed;
    }
    return changed;
  }

  bool apply(std::size_t i, std::span<const ClassId> match, std::uint32_t bound) {
    const RuleMatcher& matcher = matchers_[i];
    RuleStatistics& statistics = report_.rules[i];
    const std::size_t nodes_before = egraph_.id_count();
    if (!matcher.instantiate(egraph_, match, bound, right_)) {
      ++statistics.dropped;
      return false;
    }
    const auto left = match.last(right_.size());
    bool united = false;
    for (std::size_t k = 0; k < left.size(); ++k) {
      // New nodes have been put into their class.
      const auto result = egraph_.unite(left[k], right_[k]);
      if (!result) {
        report_.failure = fmt::format("{}: {}", matcher.rule().rule.name, result.error().message);
        stop(StopReason::failed);
        return true;
      }
      united = *result || right_[k].v >= nodes_before || united;
    }
    if (!united) return egraph_.id_count() != nodes_before;
    ++statistics.applications;
    if (limits_.log_applications) log(i, match, bound);
    return true;
  }

  void log(std::size_t i, std::span<const ClassId> match, std::uint32_t bound) {
    Application entry;
    entry.rule = static_cast<std::uint32_t>(i);
    entry.bindings = matchers_[i].bound(bound).bindings;
    const auto inputs = match.first(match.size() - right_.size());
    const auto left = match.last(right_.size());
    entry.inputs.assign(inputs.begin(), inputs.end());
    entry.left.assign(left.begin(), left.end());
    entry.right = right_;
    report_.log.push_back(std::move(entry));
  }

  EGraph& egraph_;
  const SaturationLimits& limits_;
  std::vector<RuleMatcher> matchers_;
  std::vector<RuleState> states_;
  std::vector<ClassId> right_;  // of the match being applied
  SaturationReport report_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::uint32_t checks_ = 0;  // the clock is asked now and then only
  bool stopped_ = false;
};

}  // namespace

SaturationReport saturate(EGraph& egraph, std::span<const CompiledRule> rules,
                          const SaturationLimits& limits) {
  return Saturation(egraph, rules, limits).run();
}

}  // namespace lemma
