#include "report/model_gain.h"

namespace lemma {

bool is_changed(const OptimizeAnswer& answer) {
  return answer.status == name(OptimizeStatus::optimized) ||
         answer.status == name(OptimizeStatus::simplified);
}

std::optional<std::pair<double, double>> measured_seconds(const OptimizeAnswer& answer) {
  const TimingReport& timing = answer.report.timing;
  // A second run that failed takes nothing from what the first one measured.
  const bool was_judged = timing.before_seconds > 0 && timing.after_seconds > 0;
  if (!was_judged && (timing.state == TimingReport::State::predicted ||
                      timing.state == TimingReport::State::too_late ||
                      timing.state == TimingReport::State::not_runnable))
    return std::nullopt;
  double before = timing.before_seconds;
  if (before == 0 && !timing.choices.empty()) before = timing.choices.front().front();
  if (before == 0) return std::nullopt;
  return std::pair(before, is_changed(answer) ? timing.after_seconds : before);
}

Gain gain_of(const OptimizeAnswer& answer) {
  if (const auto measured = measured_seconds(answer))
    return {measured->first, measured->second, true};
  return {answer.report.before.seconds, answer.report.after.seconds, false};
}

}  // namespace lemma
