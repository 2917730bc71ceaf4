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
  return report.rounds == 0 || report.ratio.upper_bound <= 1 - TimedChoice::least_gain;
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

/// Of an original and one candidate the latter, which is_faster() judges anyway: nothing is to be chosen.
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
  note_success();
  return costs;
}

/// With fewer than eight runs of each a median tells no small gain. Each graph is also folded, written and
/// loaded, for both sessions.
std::size_t TimedChoice::affordable(const GraphCost& original) const {
  constexpr std::size_t most = 12;
  constexpr double least_runs = 8, bytes_per_second = 60e6;
  const double each = least_runs * original.seconds +
                      timer_.seconds_to_prepare(original.operators) +
                      original.parameter_bytes / bytes_per_second;
  const double seconds = first_run * setup_.choosing_end.remaining();
  report_.affordable.push_back(
      static_cast<std::size_t>(std::clamp(seconds / each, 0.0, 1.0 * most)));
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
  std::vector<double> before, after;
  // Noise may hide a gain: a median that promises one is worth a second look.
  for (int attempt = 0; attempt < 2; ++attempt) {
    asked.time_limit_seconds = deadline.remaining();
    if (!time_both(asked, before, after)) break;
    if (is_gain(report_) || report_.ratio.median > 1 - least_gain ||
        deadline.remaining() < 2 * setup_.judging_seconds)
      break;
  }
  return is_gain(report_);
}

bool TimedChoice::time_both(const TimingRequest& asked, std::vector<double>& before,
                            std::vector<double>& after) {
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
  const std::size_t rounds = std::min(left.size(), right.size());
  before.insert(before.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(rounds));
  after.insert(after.end(), right.begin(), right.begin() + static_cast<std::ptrdiff_t>(rounds));
  report_.before_seconds = median(before);
  report_.after_seconds = median(after);
  report_.ratio = time_ratio(before, after);
  report_.rounds = before.size();
  note_success();
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
  for (const double one : seconds)
    costs.push_back(
        {one > 0 ? one : std::numeric_limits<double>::infinity(), 0, Provenance::measured});
  return costs;
}

}  // namespace lemma
