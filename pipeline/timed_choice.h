#pragma once
// Which of some graphs is the fastest on the target, found by running them, and whether a result is faster than its
// original.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "costmodel/graph_cost.h"
#include "frontend_onnx/export.h"
#include "outputs/scratch.h"
#include "profiler/model_timing.h"
#include "search/fold_constants.h"

namespace lemma {

/// An original and a result, run side by side.
struct SideBySide {
  double before_seconds = 0, after_seconds = 0;  // medians
  TimeRatio ratio;
  std::size_t rounds = 0;  // 0: they were not run
};

/// The same on inputs of other sizes.
struct OtherSizes {
  std::string sizes;  // of the inputs, as "x:4,3,320,320"
  SideBySide times;
};

struct TimingReport {
  enum class State {
    predicted,  // nothing was timed; `message` says why
    measured,
    replayed,      // what an earlier report says
    too_late,      // the runtime is there, but time was too short
    not_runnable,  // the runtime is there, but does not run the model, or not the result
  };
  State state = State::predicted;
  std::string message;
  std::string runtime;  // "ONNX Runtime 1.31.1"
  /// The times of the graphs that the search proposed, the original first: medians of each run that chose. A
  /// second run has the best of the first one and the graph of all rewrites that paid there.
  std::vector<std::vector<double>> choices;
  /// Medians of the run that judged; 0: there was none.
  double before_seconds = 0, after_seconds = 0;
  TimeRatio ratio;
  std::size_t rounds = 0;
  OtherSizes other;  // where the model leaves sizes open; without rounds: not timed
  /// The share of the time in which models waited for a processor that other programs had; at most 1.
  double busy_share = 0;
  bool by_processor_time = false;  // more than one thread, and the machine was busy
  /// How many graphs there was time for whenever the search asked.
  std::vector<std::size_t> affordable;
  /// Nothing faster was found, and the simplified graph was no slower than the original.
  bool takes_simplified = false;
};
std::string_view name(TimingReport::State state);

struct TimingSetup {
  ModelEnvelope envelope;  // that graphs are written in
  std::vector<interpreter::NamedTensor> inputs;
  std::vector<interpreter::NamedTensor> inputs_of_other_sizes;  // empty: there are none
  std::string other_sizes;                                      // of these
  FoldOptions fold;
  ExportOptions writing;
  int threads = 0;
  Deadline choosing_end;  // of all runs that choose
  double judging_seconds = 3;
};

/// The search's evaluator. What cannot be timed costs infinitely much; if the original cannot be, the sums
/// of the operators decide. A single candidate is taken without timing, because is_faster() follows.
class TimedChoice : public GraphEvaluator {
 public:
  TimedChoice(ModelTimer& timer, const OperatorCosts& costs, TimingSetup setup);

  Result<std::vector<Cost>> evaluate(std::span<const Graph* const> graphs) const override;
  std::size_t affordable(const GraphCost& original) const override;

  /// Times both files anew. True: the result is faster, with the confidence of time_ratio() and by at least
  /// `least_gain` of the original's time, and no slower at other sizes; or there is no ONNX Runtime.
  bool is_faster(const std::filesystem::path& original, const std::filesystem::path& result,
                 double time_limit_seconds);

  /// What was measured so far.
  const TimingReport& report() const { return report_; }

  static constexpr double least_gain = 0.01;
  /// The part of a median up to which a result counts as no slower.
  static constexpr double noise = 0.01;

 private:
  void note_success() const;
  TimingRequest request(double seconds) const;
  struct Rounds {
    std::vector<double> before, after;
  };
  /// Adds the rounds of one more run to the times. False: it could not be done, which is in the report.
  bool time_both(const TimingRequest& asked, Rounds& rounds, SideBySide& result);
  void time_at_other_sizes(TimingRequest asked, const Deadline& deadline);
  void note_load(const ModelTiming& timing) const;
  Result<std::vector<ModelTiming>> time_graphs(std::span<const Graph* const> graphs) const;

  ModelTimer& timer_;
  const OperatorCosts& costs_;
  TimingSetup setup_;
  TemporaryDirectory scratch_;
  mutable TimingReport report_;
};

/// The evaluator that repeats what an earlier report says.
class ReplayedChoice : public GraphEvaluator {
 public:
  explicit ReplayedChoice(TimingReport report) : report_(std::move(report)) {}
  /// An error: the report is of another search.
  Result<std::vector<Cost>> evaluate(std::span<const Graph* const> graphs) const override;
  std::size_t affordable(const GraphCost& original) const override;

 private:
  TimingReport report_;
  mutable std::size_t runs_ = 0, questions_ = 0;  // that were repeated
};

/// What a judgement says: true where there is no ONNX Runtime.
bool is_gain(const TimingReport& report);

/// Models waited so long for processors that it shows in their times.
bool is_busy(const TimingReport& report);

}  // namespace lemma
