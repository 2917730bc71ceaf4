#include "pipeline/timed_choice.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

namespace lemma {

namespace fs = std::filesystem;

namespace {

constexpr double first_run = 0.7;  // of the time for choosing

}  // namespace

std::string_view name(TimingReport::State state) {
  constexpr std::array<std::string_view, 5> names = {"predicted", "measured", "replayed",
                                                     "too late", "not runnable"};
  return names[static_cast<std::size_t>(state)];
}

bool is_gain(const TimingReport& report) {
  if (report.state == TimingReport::State::too_late ||
      report.state == TimingReport::State::not_runnable)
    return false;
  if (report.rounds == 0) return true;
  return report.ratio.upper_bound <= 1 - TimedChoice::least_gain &&
         (report.other.times.rounds == 0 ||
          report.other.times.ratio.median <= 1 + TimedChoice::noise);
}

TimedChoice::TimedChoice(ModelTimer& timer, const OperatorCosts& costs, TimingSetup setup)
    : timer_(timer), costs_(costs), setup_(std::move(setup)) {
  report_.message = "there was nothing to compare";
}

TimingRequest TimedChoice::request(double seconds) const {
  TimingRequest request;
  request.inputs = {setup_.inputs};
  request.scratch_folder = scratch_.path();
  request.threads = setup_.threads;
  request.seconds = seconds;
  // Making sessions takes time too, and a run cannot be ended.
  request.time_limit_seconds = 3 * seconds + 10;
  return request;
}

Result<std::vector<ModelTiming>> TimedChoice::time_graphs(
    std::span<const Graph* const> graphs) const {
  // A second run may follow, of a few graphs.
  TimingRequest asked =
      request((report_.choices.empty() ? first_run : 1) * setup_.choosing_end.remaining());
  asked.rounds = 16;
  if (!scratch_.good()) return bad_input("there is no folder for temporary files");
  for (const Graph* graph : graphs) {
    // Each has a folder of its own, because external data has a name of its own only there.
    const fs::path folder = scratch_.path() / fmt::format("candidate_{}", asked.models.size());
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return bad_input(folder.string() + ": cannot be created");
    asked.models.push_back(folder / "model.onnx");
    // As it would be written: the runtime's own folding comes after rewrites that look for weights.
    auto folded = fold_constants(*graph, setup_.fold);
    LEMMA_RETURN_IF_ERROR(export_model({folded ? std::move(*folded) : *graph, setup_.envelope},
                                       asked.models.back(), setup_.writing));
  }
  return timer_.time(asked);
}

namespace {

/// Whether there is but one candidate beside the original: is_faster() judges it anyway, and nothing is
/// to be chosen.
bool is_lone_candidate(std::span<const Graph* const> graphs) { return graphs.size() == 2; }
std::vector<Cost> costs_of_lone_candidate() {
  return {{1, 0, Provenance::analytic}, {0, 0, Provenance::analytic}};
}

}  // namespace

Result<std::vector<Cost>> TimedChoice::evaluate(std::span<const Graph* const> graphs) const {
  if (is_lone_candidate(graphs)) return costs_of_lone_candidate();
  const auto timings = time_graphs(graphs);
  const std::string failure = !timings ? timings.error().message : timings->front().failure;
  if (!failure.empty()) {
    report_.message = failure;
    return SumOfOperators(costs_).evaluate(graphs);
  }
  std::vector<Cost> costs;
  std::vector<double>& choice = report_.choices.emplace_back();
  for (const ModelTiming& timing : *timings) {
    const double seconds =
        timing.seconds.empty() ? std::numeric_limits<double>::infinity() : median(timing.seconds);
    costs.push_back({seconds, quartile_deviation(timing.seconds), Provenance::measured});
    choice.push_back(timing.seconds.empty() ? 0 : seconds);
  }
  note_load(timings->front());
  note_success();
  return costs;
}

/// How many graphs can be timed. With fewer than eight runs of each a median tells no small gain. Each
/// graph is also folded, written and loaded, for both sessions.
std::size_t TimedChoice::affordable(const GraphCost& original) const {
  constexpr std::size_t most = 12;
  constexpr double least_runs = 8, bytes_per_second = 60e6;
  const double round_seconds = least_runs * original.seconds +
                               timer_.seconds_to_prepare(original.operators) +
                               original.parameter_bytes / bytes_per_second;
  const double seconds = first_run * setup_.choosing_end.remaining();
  report_.affordable.push_back(
      static_cast<std::size_t>(std::clamp(seconds / round_seconds, 0.0, 1.0 * most)));
  return report_.affordable.back();
}

void TimedChoice::note_success() const {
  report_.state = TimingReport::State::measured;
  report_.runtime = timer_.runtime();
  report_.message.clear();
}

bool TimedChoice::is_faster(const fs::path& original, const fs::path& result,
                            double time_limit_seconds) {
  const Deadline deadline = Deadline::after(time_limit_seconds);
  TimingRequest asked = request(setup_.judging_seconds);
  asked.models = {original, result};
  asked.sessions = 4;
  asked.rounds = 40;
  asked.least_rounds = 8;
  report_.other = {};
  Rounds rounds;
  SideBySide times;
  // Noise may hide a gain: a median that promises one is worth another look, on a busy machine several.
  constexpr int most_runs = 2, most_runs_if_busy = 5;
  for (int run = 0; run < (is_busy(report_) ? most_runs_if_busy : most_runs); ++run) {
    asked.time_limit_seconds = deadline.remaining();
    if (!time_both(asked, rounds, times)) break;
    report_.before_seconds = times.before_seconds;
    report_.after_seconds = times.after_seconds;
    report_.ratio = times.ratio;
    report_.rounds = times.rounds;
    note_success();
    if (is_gain(report_) || report_.ratio.median > 1 - least_gain ||
        deadline.remaining() < 2 * setup_.judging_seconds)
      break;
  }
  if (times.rounds > 0 && times.ratio.median <= 1 + noise) time_at_other_sizes(asked, deadline);
  return is_gain(report_);
}

/// Times a result at other sizes, in half as many rounds: one that is slower there by more than noise is refused, and no
/// gain has to be shown. The original runs at these sizes, so a result that does not is refused too. Where time is
/// short, nothing is said.
void TimedChoice::time_at_other_sizes(TimingRequest asked, const Deadline& deadline) {
  if (setup_.inputs_of_other_sizes.empty() || deadline.remaining() < setup_.judging_seconds) return;
  asked.inputs = {setup_.inputs_of_other_sizes};
  asked.rounds /= 2;
  asked.seconds = std::min(setup_.judging_seconds, 0.5 * deadline.remaining());
  asked.time_limit_seconds = deadline.remaining();
  const TimingReport before = report_;
  Rounds rounds;
  SideBySide times;
  if (time_both(asked, rounds, times)) {
    report_.other = {setup_.other_sizes, times};
  } else if (report_.state == TimingReport::State::not_runnable) {
    report_.message = fmt::format("at {}: {}", setup_.other_sizes, report_.message);
  } else {
    report_ = before;
  }
}

bool is_busy(const TimingReport& report) {
  constexpr double share = 0.1;
  return report.busy_share > share;
}

void TimedChoice::note_load(const ModelTiming& timing) const {
  report_.busy_share = std::max(report_.busy_share, timing.busy_share);
  report_.by_processor_time = report_.by_processor_time || timing.by_processor_time;
}

bool TimedChoice::time_both(const TimingRequest& asked, Rounds& rounds, SideBySide& result) {
  const auto timings = timer_.time(asked);
  std::string failure = !timings ? timings.error().message : "";
  for (std::size_t i = 0; failure.empty() && i < timings->size(); ++i)
    failure = (*timings)[i].failure;
  if (!failure.empty()) {
    report_.state = timings                  ? TimingReport::State::not_runnable
                    : timer_.was_available() ? TimingReport::State::too_late
                                             : TimingReport::State::predicted;
    report_.message = failure;
    return false;
  }
  const std::vector<double>&left = timings->front().seconds, &right = timings->back().seconds;
  const auto count = static_cast<std::ptrdiff_t>(std::min(left.size(), right.size()));
  rounds.before.insert(rounds.before.end(), left.begin(), left.begin() + count);
  rounds.after.insert(rounds.after.end(), right.begin(), right.begin() + count);
  result = {median(rounds.before), median(rounds.after), time_ratio(rounds.before, rounds.after),
            rounds.before.size()};
  note_load(timings->front());
  return true;
}

std::size_t ReplayedChoice::affordable(const GraphCost& /*original*/) const {
  return questions_ < report_.affordable.size() ? report_.affordable[questions_++] : 0;
}

Result<std::vector<Cost>> ReplayedChoice::evaluate(std::span<const Graph* const> graphs) const {
  if (is_lone_candidate(graphs)) return costs_of_lone_candidate();
  const std::vector<double> seconds =
      runs_ < report_.choices.size() ? report_.choices[runs_] : std::vector<double>();
  if (seconds.size() != graphs.size())
    return bad_input(
        fmt::format("the report to replay compares {} graphs, this search found {}; "
                    "give it the same model, rules and options",
                    seconds.size(), graphs.size()));
  ++runs_;
  std::vector<Cost> costs;
  for (const double time : seconds)
    costs.push_back(
        {time > 0 ? time : std::numeric_limits<double>::infinity(), 0, Provenance::measured});
  return costs;
}

}  // namespace lemma
