#include "backend/schedule/event_maker.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lemma::backend {

namespace {

void merge(Clock& into, const Clock& other) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
}

/// The task at this position has ended, and what had ended when it began.
void learn(Clock& known, Position at, const Clock& when_it_began) {
  merge(known, when_it_began);
  known[at.unit] = std::max(known[at.unit], at.index + 1);
}

}  // namespace

EventMaker::EventMaker(TaskProgram& program, std::vector<Round> rounds)
    : program_(program),
      clocks_(program.units.size()),
      awaited_(program.units.size()),
      known_(program.units.size(), Clock(program.units.size(), 0)),
      rounds_(std::move(rounds)),
      round_of_(program.units.size()) {
  for (RoundNumber round = 0; round < rounds_.size(); ++round) {
    rounds_[round].missing = rounds_[round].steps.size();
    for (const Position at : rounds_[round].steps) {
      std::vector<RoundNumber>& of_unit = round_of_[at.unit];
      if (of_unit.size() <= at.index) of_unit.resize(at.index + 1, no_round);
      of_unit[at.index] = round;
    }
  }
}

EventMaker::RoundNumber EventMaker::round_of(Position at) const {
  const std::vector<RoundNumber>& of_unit = round_of_[at.unit];
  return at.index < of_unit.size() ? of_unit[at.index] : no_round;
}

void EventMaker::end_of_round(Round& round) {
  round.known.assign(program_.units.size(), 0);
  for (const Position at : round.steps) learn(round.known, at, clocks_[at.unit][at.index]);
}

/// A round with several of the candidates takes the place of the waits for them, those with most first.
void EventMaker::wait_for_rounds(UnitNumber unit, Step& step,
                                 const std::vector<Position>& candidates, double planned_begin) {
  if (rounds_.empty()) return;
  std::map<RoundNumber, std::size_t> counts;
  for (const Position at : candidates) {
    const RoundNumber round = round_of(at);
    if (round != no_round && rounds_[round].missing == 0 && rounds_[round].ready <= planned_begin)
      ++counts[round];
  }
  std::vector<std::pair<RoundNumber, std::size_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Clock& known = known_[unit];
  for (const auto& [number, count] : order) {
    const auto saved = static_cast<std::size_t>(std::count_if(
        candidates.begin(), candidates.end(),
        [&](Position at) { return round_of(at) == number && known[at.unit] <= at.index; }));
    if (saved < 2) continue;
    Round& round = rounds_[number];
    step.waits.push_back({static_cast<CounterNumber>(program_.units.size() + number),
                          static_cast<std::uint32_t>(round.steps.size())});
    ++round.waits;
    round.waits_saved += saved;
    merge(known, round.known);
  }
}

Position EventMaker::add(UnitNumber unit, const Task& task, const Clock& needs,
                         double planned_begin) {
  Step step{task, {}, {}};
  std::vector<Position> candidates;
  for (UnitNumber other = 0; other < needs.size(); ++other)
    if (other != unit && needs[other] > known_[unit][other])
      candidates.push_back({other, needs[other] - 1});
  wait_for_rounds(unit, step, candidates, planned_begin);
  // What is known after one wait may make another needless: those that tell most come first.
  std::stable_sort(candidates.begin(), candidates.end(), [this](Position a, Position b) {
    return clocks_[a.unit][a.index][b.unit] > b.index;
  });
  for (const Position at : candidates) {
    if (known_[unit][at.unit] > at.index) continue;
    step.waits.push_back({at.unit, at.index + 1});
    awaited_[at.unit][at.index] = true;
    learn(known_[unit], at, clocks_[at.unit][at.index]);
  }
  const Position added{unit, static_cast<std::uint32_t>(program_.units[unit].size())};
  known_[unit][unit] = added.index;
  clocks_[unit].push_back(known_[unit]);
  awaited_[unit].push_back(false);
  program_.units[unit].push_back(std::move(step));
  known_[unit][unit] += 1;
  const RoundNumber round = round_of(added);
  if (round != no_round && --rounds_[round].missing == 0) end_of_round(rounds_[round]);
  return added;
}

void EventMaker::count_signals() {
  const auto units = static_cast<std::uint32_t>(program_.units.size());
  program_.counters = units;
  std::vector<CounterNumber> counters(rounds_.size(), 0);  // of rounds that are waited for
  for (RoundNumber round = 0; round < rounds_.size(); ++round)
    if (rounds_[round].waits > 0) counters[round] = program_.counters++;
  std::vector<std::vector<std::uint32_t>> counts(units);
  for (UnitNumber unit = 0; unit < units; ++unit) {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < program_.units[unit].size(); ++i) {
      std::vector<CounterNumber>& signals = program_.units[unit][i].signals;
      if (awaited_[unit][i]) {
        ++count;
        signals.push_back(unit);
      }
      counts[unit].push_back(count);
      const RoundNumber round = round_of({unit, i});
      if (round != no_round && rounds_[round].waits > 0) signals.push_back(counters[round]);
    }
  }
  for (std::vector<Step>& steps : program_.units)
    for (Step& step : steps)
      for (Wait& wait : step.waits)
        if (wait.counter < units)
          wait.value = counts[wait.counter][wait.value - 1];
        else
          wait.counter = counters[wait.counter - units];
}

NeededSteps needed_steps(const TaskProgram& program, StepNeeds needs) {
  const auto times = planned_times(program);
  needs.resize(program.units.size());
  for (UnitNumber unit = 0; unit < program.units.size(); ++unit)
    needs[unit].resize(program.units[unit].size());
  NeededSteps result;
  visit_steps(program, [&](Position at, const Signals& signals) {
    const Step& step = program.units[at.unit][at.index];
    Clock& needed = needs[at.unit][at.index];
    needed.resize(program.units.size(), 0);
    for (const Wait& wait : step.waits)
      signals.visit_awaited(wait, [&needed](Position awaited) {
        needed[awaited.unit] = std::max(needed[awaited.unit], awaited.index + 1);
      });
    result.push_back({at.unit, step.task, std::move(needed), times[at.unit][at.index].first});
  });
  // Steps that begin at the same time stay in an order that the waits allow.
  std::stable_sort(result.begin(), result.end(),
                   [](const NeededStep& a, const NeededStep& b) { return a.begin < b.begin; });
  return result;
}

}  // namespace lemma::backend
