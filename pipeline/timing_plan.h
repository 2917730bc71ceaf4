#pragma once
// Whether and for how long graphs are run to find out which is the fastest.

#include <optional>

#include "pipeline/current_costs.h"
#include "pipeline/original_run.h"
#include "pipeline/timed_choice.h"

namespace lemma {

/// The time that is kept back for what follows the search.
struct KeptTime {
  double check = 0;   // that the check of the result is expected to take
  double timing = 0;  // of candidates and of the result

  /// The part of `timing` for judging the result; the rest is for the candidates.
  double judging() const { return 0.5 * timing; }
};

/// Folding reads weights and writes others.
double folding_seconds(const Job& job, const Deadline& deadline);

/// What the candidates of a search are compared by: runs on the target, or what an earlier report says of such runs. Both
/// empty: by their costs.
class TimingPlan {
 public:
  TimingPlan(const TimingPlan&) = delete;
  TimingPlan& operator=(const TimingPlan&) = delete;
  TimingPlan() = default;

  /// A third of the time that is left is for timing, less for a model so slow (`original_seconds`) that few graphs can be
  /// run. `kept.timing` is set.
  void prepare(const Job& job, const ModelInputs& inputs, const CurrentCosts& costs,
               ModelTimer* models, double original_seconds, const Deadline& deadline,
               KeptTime& kept);

  /// Null: candidates are compared by their costs.
  const GraphEvaluator* evaluator() const;
  TimedChoice* timed() { return timed_ ? &*timed_ : nullptr; }
  const TimedChoice* timed() const { return timed_ ? &*timed_ : nullptr; }

 private:
  std::optional<TimedChoice> timed_;
  std::optional<ReplayedChoice> replayed_;
};

/// What is said of other programs that ran while models were timed, with "; " before it; empty: nothing.
std::string load_of(const TimingReport& report);

/// Whether a result that is only simpler may take the original's place: it is no slower when both are run, or, where
/// nothing can be run, by its cost. `report` tells what was measured.
bool is_no_slower(const Job& job, const std::filesystem::path& result, double cost_ratio,
                  TimingPlan& plan, const Deadline& deadline, TimingReport& report);

/// Whether the simplified graph is faster than the original by more than a result is, if there is time to run it. `report` tells
/// what was measured of the result, and then, if it is, of the simplified graph.
bool is_faster_still(const Job& job, const std::filesystem::path& simplified, TimingReport& report,
                     TimingPlan& plan, const Deadline& deadline);

/// Why a result may not take the original's place; empty if it may. `report` tells what was measured.
std::string objection_of_timing(const Job& job, const std::filesystem::path& result,
                                TimingPlan& plan, const Deadline& deadline, TimingReport& report);

}  // namespace lemma
