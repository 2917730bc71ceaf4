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
#include "egraph/exact/parts.h"
#include "egraph/exact/reducer.h"
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

/// The solvers that run at the same time, at most two.
std::vector<Contender> contenders(const ExtractOptions& options) {
  std::vector<Contender> result;
  if (options.use_programs && answer_sets_available())
    result.push_back({"answer sets", solve_by_answer_sets});
  result.push_back({"own search", search_on});
  return result;
}

bool near(Cost cost, Cost lower_bound, double good_enough) {
  return static_cast<double>(cost - lower_bound) <=
         good_enough * std::abs(static_cast<double>(cost));
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
  bool adopt(const std::optional<Selection>& selection) {
    if (!selection) return has_best_;
    auto expanded = finished_selection(problem_, reducer_.expand(*selection));
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

  /// A part, what is known of it, and whether more can be hoped for.
  struct Piece {
    Part part;
    std::optional<Selection> selection;
    Cost lower = 0;
    bool settled = false;
  };

  void solve_parts(const Problem& rest) {
    result_.remaining_classes = rest.class_count;
    result_.remaining_nodes = rest.nodes.size();
    std::vector<Piece> pieces;
    Cost total = reducer_.fixed_cost();  // a lower bound of the whole
    for (Part& part : independent_parts(rest)) {
      const Cost lower = quick_lower_bound(part.problem);
      total += lower;
      pieces.push_back({std::move(part), std::nullopt, lower, false});
    }
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return a.part.problem.nodes.size() < b.part.problem.nodes.size();
    });
    // What a hard part leaves undone waits until the others have had their turns.
    const int most_passes = options_.races ? 6 : 1;
    for (int pass = 0; pass < most_passes && (pass == 0 || !limit_.reached()); ++pass) {
      auto waiting = static_cast<std::size_t>(std::count_if(
          pieces.begin(), pieces.end(), [](const Piece& piece) { return !piece.settled; }));
      for (Piece& piece : pieces) {
        if (piece.settled) continue;
        if (total >= best_.cost) return finish(total);
        Limit limit = limit_;
        const auto left = limit_.deadline - Clock::now();
        if (left.count() > 0)
          limit.deadline = Clock::now() + left / static_cast<std::int64_t>(waiting);
        --waiting;
        // What this part may cost in a selection that is cheaper than the best so far.
        const Cost allowed = best_.cost - (total - piece.lower);
        total -= piece.lower;
        solve_piece(piece, allowed, limit, pass == 0);
        total += piece.lower;
      }
      adopt_pieces(rest, pieces);
    }
    finish(total);
  }

  void adopt_pieces(const Problem& rest, const std::vector<Piece>& pieces) {
    Selection whole;
    whole.node_of.assign(rest.class_count, none);
    for (const Piece& piece : pieces) {
      if (!piece.selection) return;
      insert(piece.part, *piece.selection, whole);
    }
    adopt(whole);
  }

  /// Raises the lower bound, to `allowed` at least if nothing is cheaper than that, and improves the
  /// selection.
  void solve_piece(Piece& piece, Cost allowed, const Limit& limit, bool first) {
    const Problem& part = piece.part.problem;
    if (first) piece.selection = start_selection(part, limit);
    const auto upper = [&] {
      return piece.selection ? std::min(piece.selection->cost, allowed) : allowed;
    };
    bool proved = false;
    const auto learn = [&](Outcome outcome) {
      if (outcome.lower_bound) piece.lower = std::max(piece.lower, *outcome.lower_bound);
      if (outcome.best) piece.selection = std::move(outcome.best);
      proved = proved || outcome.proved;
    };
    if (first) {
      learn(
          branch_and_bound(part, upper(),
                           {.most_decisions = affordable_decisions(part, options_.first_decisions),
                            .limit = limit}));
      if (proved) methods_.insert("own search");
    }
    if (options_.races && !proved && !limit.reached())
      learn(race(contenders(options_), part, upper(), limit, options_.good_enough, methods_));
    piece.settled = proved || (piece.selection &&
                               near(piece.selection->cost, piece.lower, options_.good_enough));
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
