#include "egraph/saturation.h"

#include <algorithm>
#include <numeric>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include "egraph/match.h"
#include "egraph/obligations.h"
#include "system/parallel.h"

namespace lemma {

namespace {

/// What entries of the log refer to; stays where it is.
class LogStorage {
 public:
  std::vector<RuleMatcher> matchers;

  std::span<const ClassId> keep(std::span<const ClassId> a, std::span<const ClassId> b) {
    const std::size_t size = a.size() + b.size();
    if (chunks_.empty() || chunks_.back().capacity() - chunks_.back().size() < size) {
      chunks_.emplace_back();
      chunks_.back().reserve(std::max<std::size_t>(4096, size));
    }
    std::vector<ClassId>& chunk = chunks_.back();
    chunk.insert(chunk.end(), a.begin(), a.end());
    chunk.insert(chunk.end(), b.begin(), b.end());
    return std::span(chunk).last(size);
  }

 private:
  std::vector<std::vector<ClassId>> chunks_;
};

class Saturator {
 public:
  Saturator(EGraph& egraph, std::span<const CompiledRule> rules, const SaturationLimits& limits)
      : egraph_(egraph),
        limits_(limits),
        watch_(limits),
        scheduler_(limits, rules.size()),
        runs_(rules.size(), 0) {
    for (const CompiledRule& rule : rules) matchers_.emplace_back(rule);
    report_.rules.resize(rules.size());
  }

  SaturationReport run() {
    report_.iterations = engine::run_rounds(
        egraph_, limits_, watch_, scheduler_,
        [this](std::size_t iteration, std::uint32_t now) { return round(iteration, now); });
    egraph_.rebuild();
    report_.stop = watch_.reason();
    for (std::size_t i = 0; i < matchers_.size(); ++i)
      report_.rules[i].rejected = matchers_[i].rejected();
    report_.log_storage = storage_;
    report_.seconds = watch_.seconds();
    return std::move(report_);
  }

 private:
  engine::Round round(std::size_t iteration, std::uint32_t now) {
    std::vector<RuleSearch> searches;
    bool complete = search_all(iteration, searches);
    bool changed = false;
    std::size_t rules_left = searches.size();
    std::size_t nodes_left = round_growth();
    if (limits_.growth < 1) fewest_matches_first(searches);
    for (const RuleSearch& search : searches) {
      if (watch_.stopped()) break;
      const std::size_t before = egraph_.node_count();
      const std::size_t share = limits_.growth < 1 ? nodes_left / rules_left : nodes_left;
      const Applied applied = apply(search, before + share);
      if (!applied.complete)
        ++report_.rules[search.rule].cuts;
      else if (!search.thinned)
        scheduler_.applied(search.rule, now);
      changed = changed || applied.changed;
      complete = complete && applied.complete;
      nodes_left -= std::min(nodes_left, egraph_.node_count() - before);
      --rules_left;
    }
    return {changed, complete};
  }

  std::size_t round_growth() const {
    const std::size_t left =
        limits_.node_limit - std::min(limits_.node_limit, egraph_.node_count());
    return limits_.growth < 1
               ? 1 + static_cast<std::size_t>(static_cast<double>(left) * limits_.growth)
               : left;
  }

  /// One rule's part in a round.
  struct RuleSearch {
    std::size_t rule = 0;
    SearchLimits limits;
    std::vector<SearchTask> tasks;
    std::vector<FoundMatches> task_matches;  // by task
    MatchList matches;
    bool thinned = false;  // some were left out
  };

  /// Keeps, of a rule with several outputs, matches without common outputs. The youngest classes
  /// come first, so that what was merged in the last round is merged with its like in this one.
  void thin(RuleSearch& search) const {
    const std::size_t outputs = matchers_[search.rule].rule().left_variables.size();
    if (outputs < 2 || limits_.multi_output_matches == 0 ||
        search.matches.size() <= limits_.multi_output_matches)
      return;
    const auto left = [&](std::size_t i) { return search.matches.classes(i).last(outputs); };
    std::vector<std::size_t> order(search.matches.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<ClassId> oldest(order.size());
    for (const std::size_t i : order) oldest[i] = *std::ranges::min_element(left(i));
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      if (oldest[a] != oldest[b]) return oldest[a] > oldest[b];
      return std::ranges::lexicographical_compare(left(a), left(b));
    });
    absl::flat_hash_set<ClassId> used;
    std::erase_if(order, [&](std::size_t i) {
      const auto taken = [&](ClassId id) { return used.contains(id); };
      if (std::ranges::any_of(left(i), taken)) return true;
      for (const ClassId id : left(i)) used.insert(id);
      return false;
    });
    search.matches.select(order);
    search.thinned = true;
  }

  static void fewest_matches_first(std::vector<RuleSearch>& searches) {
    std::stable_sort(searches.begin(), searches.end(),
                     [](const RuleSearch& a, const RuleSearch& b) {
                       return a.matches.size() < b.matches.size();
                     });
  }

  /// The searches that have ended, with their matches. False if some rule has matches left.
  bool search_all(std::size_t iteration, std::vector<RuleSearch>& searches) {
    bool complete = true;
    const OperatorIndex index(egraph_);
    for (std::size_t i = 0; i < matchers_.size(); ++i) {
      const bool multi_output = matchers_[i].rule().left_variables.size() > 1;
      if (multi_output && runs_[i] >= limits_.multi_output_iterations) continue;
      if (scheduler_.rests(i, iteration))
        complete = false;
      else
        searches.push_back({i, search_limits(i), matchers_[i].prepare(egraph_), {}, {}, false});
    }
    for (RuleSearch& search : searches) search.limits.index = &index;
    run_tasks(searches);
    for (RuleSearch& search : searches) {
      while (!watch_.interrupted() &&
             matchers_[search.rule].must_repeat(egraph_, search.task_matches))
        run_tasks({&search, 1});
      if (watch_.stopped()) return false;
      if (!finish(search, iteration)) complete = false;
      search.limits.index = nullptr;  // it ends here
    }
    std::erase_if(searches, [this, iteration](const RuleSearch& search) {
      return scheduler_.rests(search.rule, iteration);
    });
    return complete;
  }

  SearchLimits search_limits(std::size_t i) const {
    SearchLimits limits;
    limits.since = scheduler_.since(i);
    limits.matches = scheduler_.match_limit(i);
    limits.interrupted = [this] { return watch_.time_is_over() || watch_.is_cancelled(); };
    return limits;
  }

  /// Rules whose searches change the e-graph come after the others, in order.
  void run_tasks(std::span<RuleSearch> searches) {
    std::vector<std::pair<RuleSearch*, std::size_t>> parallel, sequential;
    for (RuleSearch& search : searches) {
      search.task_matches.clear();
      search.task_matches.resize(search.tasks.size());
      for (std::size_t t = 0; t < search.tasks.size(); ++t)
        (matchers_[search.rule].concurrent() ? parallel : sequential).emplace_back(&search, t);
    }
    const auto run = [this](const std::pair<RuleSearch*, std::size_t>& task) {
      auto& [search, t] = task;
      search->task_matches[t] =
          matchers_[search->rule].search(egraph_, search->tasks[t], search->limits);
    };
    parallel_for(parallel.size(), static_cast<int>(limits_.threads),
                 [&](std::size_t k) { run(parallel[k]); });
    std::for_each(sequential.begin(), sequential.end(), run);
  }

  /// False, and the rule rests, if there are too many matches.
  bool finish(RuleSearch& search, std::size_t iteration) {
    const std::size_t i = search.rule;
    RuleStatistics& statistics = report_.rules[i];
    for (const FoundMatches& part : search.task_matches) statistics.seconds += part.seconds;
    if (!matchers_[i].collect(egraph_, search.task_matches, search.limits.matches,
                              search.matches)) {
      search.matches.clear();
      if (watch_.interrupted()) return false;
      scheduler_.rest(i, iteration);
      ++statistics.rests;
      return false;
    }
    std::vector<FoundMatches>().swap(search.task_matches);
    ++runs_[i];
    thin(search);
    statistics.matches += search.matches.size();
    return true;
  }

  struct Applied {
    bool changed = false;
    bool complete = true;  // all matches
  };

  /// Applies until there are as many nodes.
  Applied apply(const RuleSearch& search, std::size_t node_limit) {
    Applied result;
    constexpr std::size_t ahead = 8;
    const RuleMatcher& matcher = matchers_[search.rule];
    const MatchList& matches = search.matches;
    const std::size_t count = matches.size();
    for (std::size_t k = 0; k < count; ++k) {
      if (watch_.exhausted(egraph_) || egraph_.node_count() >= node_limit) {
        result.complete = false;
        break;
      }
      if (egraph_.observation_is_stale() && !matcher.rule().bitwise) {
        result.complete = false;  // the rest waits for the next round
        break;
      }
      if (k + ahead < count)
        matcher.prefetch(egraph_, matches.classes(k + ahead), matches.bound(k + ahead));
      result.changed = apply(search.rule, matches.classes(k), matches.bound(k)) || result.changed;
    }
    return result;
  }

  bool apply(std::size_t i, std::span<const ClassId> match, std::uint32_t bound) {
    const RuleMatcher& matcher = matchers_[i];
    RuleStatistics& statistics = report_.rules[i];
    const std::size_t nodes_before = egraph_.id_count();
    // What the search saw may be observed by now.
    if (!obligations_at(egraph_, matcher.rule(), match).make_an_equation()) return false;
    if (!reads_stay_inside(egraph_, matcher.bound(bound), match)) {
      ++statistics.dropped;
      return false;
    }
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
        watch_.stop(StopReason::failed);
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
    const std::span<const ClassId> kept = storage_->keep(match, right_);
    const std::size_t outputs = right_.size(), inputs = match.size() - outputs;
    report_.log.push_back({static_cast<std::uint32_t>(i), matchers_[i].bound(bound).bindings,
                           kept.first(inputs), kept.subspan(inputs, outputs), kept.last(outputs)});
  }

  EGraph& egraph_;
  const SaturationLimits& limits_;
  std::shared_ptr<LogStorage> storage_ = std::make_shared<LogStorage>();
  std::vector<RuleMatcher>& matchers_ = storage_->matchers;
  engine::Watch watch_;
  engine::Scheduler scheduler_;
  std::vector<std::size_t> runs_;  // by rule
  std::vector<ClassId> right_;     // of the match being applied
  SaturationReport report_;
};

}  // namespace

SaturationReport saturate(EGraph& egraph, std::span<const CompiledRule> rules,
                          const SaturationLimits& limits) {
  return Saturator(egraph, rules, limits).run();
}

}  // namespace lemma
