#include "egraph/exact/extract.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "egraph/exact/answer_sets.h"
#include "egraph/exact/bound.h"
#include "egraph/exact/branch_and_bound.h"
#include "egraph/exact/integer_program.h"
#include "egraph/exact/parts.h"
#include "egraph/exact/reducer.h"
#include "egraph/exact/small_costs.h"
#include "egraph/exact/start.h"

namespace lemma::exact {

namespace {

using Solver = Outcome (*)(const Problem&, Cost, const Limit&);

Outcome search_on(const Problem& problem, Cost upper_bound, const Limit& limit) {
  return branch_and_bound(problem, upper_bound, {.most_decisions = SIZE_MAX, .limit = limit});
}

struct Contender {
  std::string name;
  Solver solve;
};

/// At most two, for two cores.
std::vector<Contender> contenders(const Problem& problem, const ExtractOptions& options) {
  std::vector<Contender> result;
  if (options.use_programs && answer_sets_available())
    result.push_back({"answer sets", solve_by_answer_sets});
  if (options.use_programs && integer_programs_available() && small_costs(problem, 24))
    result.push_back({"integer program", solve_by_integer_program});
  if (result.size() < 2) result.push_back({"own search", search_on});
  return result;
}

/// Runs all at once; the first proof ends the others.
Outcome race(const std::vector<Contender>& contenders, const Problem& problem, Cost upper_bound,
             Limit limit, double good_enough, std::set<std::string>& methods) {
  std::atomic<bool> stop = false;
  limit.stop = &stop;
  std::mutex mutex;
  Outcome merged;
  const auto run = [&](const Contender& contender) {
    Outcome outcome = contender.solve(problem, upper_bound, limit);
    const std::scoped_lock lock(mutex);
    if (outcome.best && (!merged.best || outcome.best->cost < merged.best->cost))
      merged.best = std::move(outcome.best);
    if (outcome.lower_bound)
      merged.lower_bound =
          std::max(merged.lower_bound.value_or(*outcome.lower_bound), *outcome.lower_bound);
    const Cost cost = merged.best ? merged.best->cost : upper_bound;
    const bool near = merged.lower_bound && static_cast<double>(cost - *merged.lower_bound) <=
                                                good_enough * std::abs(static_cast<double>(cost));
    if (!outcome.proved && !near) return;
    merged.proved = merged.proved || outcome.proved;
    if (!stop.exchange(true)) methods.insert(contender.name);
  };
  std::vector<std::thread> threads;
  for (const Contender& contender : contenders) threads.emplace_back(run, std::cref(contender));
  for (std::thread& thread : threads) thread.join();
  return merged;
}

/// Each decision reduces the problem anew, which takes the square of its classes.
std::size_t affordable_decisions(const Problem& problem, std::size_t wanted) {
  const std::size_t square = static_cast<std::size_t>(problem.class_count) * problem.class_count;
  return std::min(wanted, 400'000'000 / (square + 1));
}

class Extractor {
 public:
  Extractor(const Problem& problem, const ExtractOptions& options)
      : problem_(problem), options_(options), reducer_(problem) {
    limit_.deadline = Clock::now() + std::chrono::microseconds(static_cast<std::int64_t>(
                                         std::clamp(options.time_limit_seconds, 0.0, 1e6) * 1e6));
  }

  Result<Extraction> run() {
    if (options_.initial.size() == problem_.class_count)
      if (auto known = finished_selection(problem_, options_.initial)) {
        best_ = std::move(*known);
        has_best_ = true;
      }
    reducer_.run(std::nullopt, limit_);
    if (reducer_.infeasible() || !adopt(start_selection(reducer_.problem(), limit_)))
      return bad_input("some root cannot be chosen without needing itself");
    reduce_by_cost();
    if (reducer_.infeasible()) {
      finish(best_.cost);
    } else {
      solve_parts(reducer_.problem());
    }
    result_.selection = best_;
    result_.optimal = result_.lower_bound == best_.cost;
    if (methods_.empty()) methods_.insert(result_.optimal ? "reduction" : "none");
    result_.method = fmt::format("{}", fmt::join(methods_, " + "));
    return result_;
  }

 private:
  /// Keeps a selection of what remains if it is the best so far. False if there is none at all.
  bool adopt(const std::optional<Selection>& found) {
    if (!found) return has_best_;
    auto expanded = finished_selection(problem_, reducer_.expand(*found));
    if (expanded && (!has_best_ || expanded->cost < best_.cost)) {
      best_ = std::move(*expanded);
      has_best_ = true;
    }
    return has_best_;
  }

  /// Whatever cannot be part of something cheaper goes, as long as that helps.
  void reduce_by_cost() {
    std::size_t size = SIZE_MAX;
    while (!limit_.reached()) {
      reducer_.run(best_.cost, limit_);
      if (reducer_.infeasible()) return;
      const Problem rest = reducer_.problem();
      if (rest.nodes.size() >= size) return;
      size = rest.nodes.size();
      adopt(start_selection(rest, limit_));
    }
  }

  void finish(Cost lower_bound) { result_.lower_bound = std::min(lower_bound, best_.cost); }

  void solve_parts(const Problem& rest) {
    result_.remaining_classes = rest.class_count;
    result_.remaining_nodes = rest.nodes.size();
    auto parts = independent_parts(rest);
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return a.problem.nodes.size() < b.problem.nodes.size();
    });
    std::vector<Cost> lower;
    Cost total = reducer_.fixed_cost();
    for (const Part& part : parts) {
      lower.push_back(quick_lower_bound(part.problem));
      total += lower.back();
    }
    Selection whole;
    whole.node_of.assign(rest.class_count, none);
    bool complete = true;  // every part has a selection
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (total >= best_.cost) {
        complete = false;
        break;
      }
      // What this part may cost in a selection that is cheaper than the best so far.
      const Cost allowed = best_.cost - (total - lower[i]);
      std::optional<Selection> selection;
      const Cost bound = solve_part(parts[i].problem, allowed, selection);
      total += bound - lower[i];
      lower[i] = bound;
      if (selection)
        insert(parts[i], *selection, whole);
      else
        complete = false;
    }
    if (complete) adopt(whole);
    finish(total);
  }

  /// A lower bound of the part's cost, and its best selection if one is known. The bound is at least
  /// `allowed` if nothing is cheaper than that.
  Cost solve_part(const Problem& part, Cost allowed, std::optional<Selection>& selection) {
    selection = start_selection(part, limit_);
    const Cost upper = selection ? std::min(selection->cost, allowed) : allowed;
    Outcome outcome = branch_and_bound(
        part, upper,
        {.most_decisions = affordable_decisions(part, options_.first_decisions), .limit = limit_});
    if (outcome.proved) methods_.insert("own search");
    if (!outcome.proved && !limit_.reached()) {
      const Cost better = outcome.best ? outcome.best->cost : upper;
      Outcome more =
          race(contenders(part, options_), part, better, limit_, options_.good_enough, methods_);
      if (!more.best) more.best = std::move(outcome.best);
      outcome = std::move(more);
    }
    if (outcome.best) selection = std::move(outcome.best);
    const Cost quick = quick_lower_bound(part);
    return std::max(outcome.lower_bound.value_or(quick), quick);
  }

  const Problem& problem_;
  ExtractOptions options_;
  Reducer reducer_;
  Limit limit_;
  Selection best_;
  bool has_best_ = false;
  std::set<std::string> methods_;
  Extraction result_;
};

}  // namespace

Result<Extraction> extract(const Problem& problem, const ExtractOptions& options) {
  return Extractor(problem, options).run();
}

}  // namespace lemma::exact
