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
  return fmt::format(
      "the best result takes {:.3f} times as long as the original (with 97.5% confidence at most "
      "{:.3f} times, {:.2f} asked)",
      report.ratio.median, report.ratio.upper_bound, 1 - TimedChoice::least_gain);
}

}  // namespace lemma
