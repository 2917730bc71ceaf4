#include "pipeline/timing_plan.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma {

double folding_seconds(const Job& job, const Deadline& deadline) {
  return std::min(0.2 * deadline.remaining(), 0.5 + 4 * job.writing_seconds);
}

void TimingPlan::prepare(const Job& job, const ModelInputs& inputs, const CurrentCosts& costs,
                         ModelTimer* models, double original_seconds, const Deadline& deadline,
                         KeptTime& kept) {
  const TimingOptions& timing = job.options.timing;
  if (timing.replay) {
    if (timing.replay->state != TimingReport::State::predicted) replayed_.emplace(*timing.replay);
    return;
  }
  if (!timing.measures || models == nullptr || inputs.values.empty()) return;
  kept.timing = (original_seconds > 0.15 ? 0.25 : 0.33) * deadline.remaining();
  const double after_choosing = kept.check + kept.judging() + folding_seconds(job, deadline);
  timed_.emplace(*models, costs.get(),
                 TimingSetup{job.model.envelope,
                             inputs.values,
                             inputs.of_other_sizes,
                             sizes_of(inputs.of_other_sizes),
                             {},
                             job.options.writing,
                             job.options.threads,
                             deadline.earlier_by(after_choosing),
                             kept.judging()});
}

const GraphEvaluator* TimingPlan::evaluator() const {
  if (replayed_) return &*replayed_;
  return timed_ ? &*timed_ : nullptr;
}

std::string load_of(const TimingReport& report) {
  if (!is_busy(report)) return "";
  return fmt::format("; the machine was busy: models waited {:.0f}% of the time for a processor{}",
                     100 * report.busy_share,
                     report.by_processor_time ? ", so processor time was compared" : "");
}

std::string objection_of_timing(const Job& job, const std::filesystem::path& result,
                                TimingPlan& plan, const Deadline& deadline, TimingReport& report) {
  if (job.options.timing.replay) {
    report = *job.options.timing.replay;
    report.state = TimingReport::State::replayed;
  }
  if (TimedChoice* timed = plan.timed()) {
    job.stage("timing");
    timed->is_faster(job.file, result, deadline.remaining());
    report = timed->report();
  }
  if (is_gain(report)) return "";
  if (report.state == TimingReport::State::too_late)
    return fmt::format("the result could not be run ({}); --time-limit gives more time",
                       report.message);
  if (report.state == TimingReport::State::not_runnable)
    return fmt::format("the result could not be timed ({})", report.message);
  const std::string load = load_of(report);
  if (report.ratio.upper_bound <= 1 - TimedChoice::least_gain)
    return fmt::format(
        "the best result takes {:.3f} times as long as the original, but {:.3f} times at {}{}",
        report.ratio.median, report.other.times.ratio.median, report.other.sizes, load);
  return fmt::format(
      "the best result takes {:.3f} times as long as the original (with 97.5% confidence at most "
      "{:.3f} times, {:.2f} asked){}",
      report.ratio.median, report.ratio.upper_bound, 1 - TimedChoice::least_gain, load);
}

bool is_no_slower(const Job& job, const std::filesystem::path& result, double cost_ratio,
                  TimingPlan& plan, const Deadline& deadline, TimingReport& report) {
  const bool costs_no_more = cost_ratio <= 1 + 1e-9;
  if (job.options.timing.replay) {
    report = *job.options.timing.replay;
    report.state = TimingReport::State::replayed;
    return report.takes_simplified;
  }
  if (TimedChoice* timed = plan.timed()) {
    job.stage("timing");
    timed->is_faster(job.file, result, deadline.remaining());
    report = timed->report();
  }
  const bool is_measured = report.state == TimingReport::State::measured && report.rounds > 0;
  report.takes_simplified =
      is_measured ? report.ratio.median <= 1 + TimedChoice::noise &&
                        (report.other.times.rounds == 0 ||
                         report.other.times.ratio.median <= 1 + TimedChoice::noise)
                  : report.state != TimingReport::State::not_runnable && costs_no_more;
  return report.takes_simplified;
}

bool is_faster_still(const Job& job, const std::filesystem::path& simplified, TimingReport& report,
                     TimingPlan& plan, const Deadline& deadline) {
  constexpr double least_seconds = 2;
  if (job.options.timing.replay) return job.options.timing.replay->takes_simplified;
  TimedChoice* const timed = plan.timed();
  if (timed == nullptr || report.state != TimingReport::State::measured || report.rounds == 0 ||
      deadline.remaining() < least_seconds)
    return false;
  job.stage("timing the simplified graph");
  if (!timed->is_faster(job.file, simplified, deadline.remaining()) ||
      timed->report().ratio.median > (1 - TimedChoice::noise) * report.ratio.median)
    return false;
  report = timed->report();
  report.takes_simplified = true;
  return true;
}

}  // namespace lemma
