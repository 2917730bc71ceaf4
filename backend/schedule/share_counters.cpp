#include <algorithm>
#include <map>
#include <utility>

#include "backend/schedule/event_maker.h"

namespace lemma::backend {

namespace {

/// The rounds of several steps.
std::vector<Round> rounds_of(const TaskProgram& program) {
  const auto times = planned_times(program);
  std::map<std::pair<OperatorNumber, std::uint32_t>, Round>
      rounds;  // by operator and how many tasks of it the unit has before
  for (UnitNumber unit = 0; unit < program.units.size(); ++unit) {
    std::map<OperatorNumber, std::uint32_t> counts;
    for (std::uint32_t i = 0; i < program.units[unit].size(); ++i) {
      const OperatorNumber op = program.units[unit][i].task.op;
      Round& round = rounds[{op, counts[op]++}];
      round.steps.push_back({unit, i});
      round.ready = std::max(round.ready, times[unit][i].second + program.device.seconds_per_event);
    }
  }
  std::vector<Round> result;
  for (auto& [key, round] : rounds)
    if (round.steps.size() > 1) result.push_back(std::move(round));
  return result;
}

/// Those rounds that save more waits than they have signals.
std::vector<Round> worthwhile(const std::vector<Round>& rounds) {
  std::vector<Round> result;
  for (const Round& round : rounds)
    if (round.waits_saved > round.waits + round.steps.size()) {
      result.emplace_back().steps = round.steps;
      result.back().ready = round.ready;
    }
  return result;
}

}  // namespace

void share_counters(TaskProgram& program) {
  const NeededSteps needed = needed_steps(program, {});
  std::vector<Round> rounds = rounds_of(program);
  while (true) {
    program.units.assign(program.units.size(), {});
    EventMaker events(program, rounds);
    for (const NeededStep& step : needed) events.add(step.unit, step.task, step.needs, step.begin);
    std::vector<Round> kept = worthwhile(events.rounds());
    if (kept.size() == rounds.size()) return events.count_signals();
    rounds = std::move(kept);
  }
}

}  // namespace lemma::backend
