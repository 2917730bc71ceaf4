#include "egraph/saturation.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "egraph/match.h"

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
      : egraph_(egraph), limits_(limits), states_(rules.size()),
        arena_(limits.threads == 0 ? tbb::task_arena::automatic : static_cast<int>(limits.threads)) {
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
    if (time_is_over()) return stop(StopReason::time);
    if (is_cancelled()) return stop(StopReason::cancelled);
    return false;
  }
  bool time_is_over() const { return elapsed() >= limits_.max_seconds; }
  bool is_cancelled() const { return limits_.cancelled && limits_.cancelled(); }

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
    const bool waiting = !search_all(iteration, now, matches);
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

  /// One rule's share of a round.
  struct RuleSearch {
    std::size_t rule = 0;
    SearchLimits limits;
    std::vector<SearchTask> tasks;
    std::vector<FoundMatches> found;  // by task
  };

  /// False if some rule has matches left for a later iteration.
  bool search_all(std::size_t iteration, std::uint32_t now, std::vector<MatchList>& matches) {
    bool complete = true;
    std::vector<RuleSearch> searches;
    for (std::size_t i = 0; i < matchers_.size(); ++i) {
      const bool multi_output = matchers_[i].rule().left_variables.size() > 1;
      if (multi_output && states_[i].runs >= limits_.multi_output_iterations) continue;
      if (iteration < states_[i].rests_until)
        complete = false;
      else
        searches.push_back({i, search_limits(i), {}, {}});
    }
    for (RuleSearch& search : searches) {
      search.tasks = matchers_[search.rule].prepare(egraph_);
      search.found.resize(search.tasks.size());
    }
    run_tasks(searches);
    for (RuleSearch& search : searches) {
      if (interrupted()) return false;
      while (matchers_[search.rule].must_repeat(egraph_, search.found) && !interrupted())
        run_tasks({&search, 1});
      if (finish(search, iteration, matches[search.rule]))
        states_[search.rule].since = now;
      else
        complete = false;
    }
    return complete;
  }

  SearchLimits search_limits(std::size_t i) const {
    SearchLimits limits;
    limits.since = states_[i].since;
    limits.matches = limits_.match_limit == 0
                         ? std::numeric_limits<std::size_t>::max()
                         : limits_.match_limit << std::min<std::size_t>(report_.rules[i].rests, 20);
    limits.interrupted = [this] { return time_is_over() || is_cancelled(); };
    return limits;
  }

  /// Rules whose searches change the e-graph come after the others, in order.
  void run_tasks(std::span<RuleSearch> searches) {
    std::vector<std::pair<RuleSearch*, std::size_t>> parallel, sequential;
    for (RuleSearch& search : searches)
      for (std::size_t t = 0; t < search.tasks.size(); ++t)
        (matchers_[search.rule].concurrent() ? parallel : sequential).emplace_back(&search, t);
    const auto run = [this](const std::pair<RuleSearch*, std::size_t>& task) {
      auto& [search, t] = task;
      search->found[t] =
          matchers_[search->rule].search(egraph_, search->tasks[t], search->limits);
    };
    if (limits_.threads == 1)
      std::for_each(parallel.begin(), parallel.end(), run);
    else
      arena_.execute([&] {
        tbb::parallel_for(std::size_t{0}, parallel.size(),
                          [&](std::size_t k) { run(parallel[k]); }, tbb::simple_partitioner());
      });
    std::for_each(sequential.begin(), sequential.end(), run);
  }

  /// False, and the rule rests, if there are too many matches.
  bool finish(RuleSearch& search, std::size_t iteration, MatchList& matches) {
    const std::size_t i = search.rule;
    RuleStatistics& statistics = report_.rules[i];
    for (const FoundMatches& part : search.found) statistics.seconds += part.seconds;
    if (!matchers_[i].collect(egraph_, search.found, search.limits.matches, matches)) {
      matches.clear();
      if (interrupted()) return false;
      states_[i].rests_until =
          iteration + 1 + (limits_.rest_iterations << std::min<std::size_t>(statistics.rests, 20));
      ++statistics.rests;
      return false;
    }
    ++states_[i].runs;
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
  tbb::task_arena arena_;
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
