#pragma once
// Goes through the steps of a program, each after those that it waits for.

#include <algorithm>

#include "backend/program.h"

namespace lemma::backend {

/// A step.
struct Position {
  UnitNumber unit = 0;
  std::uint32_t index = 0;
};

/// The steps that have signalled each counter so far. A counter is one unit's, or several units signal it once each and
/// waits are for all of them.
class Signals {
 public:
  explicit Signals(const TaskProgram& program) : by_counter_(program.counters) {}

  void add(const Step& step, Position at) {
    for (const CounterNumber counter : step.signals) by_counter_[counter].push_back(at);
  }
  bool have_passed(const Step& step) const {
    return std::all_of(step.waits.begin(), step.waits.end(), [this](const Wait& wait) {
      return by_counter_[wait.counter].size() >= wait.value;
    });
  }
  /// Calls visit(position) for the steps that have ended once the wait has passed; of a unit, for the last one only.
  template <typename Visit>
  void visit_awaited(const Wait& wait, const Visit& visit) const {
    const std::vector<Position>& signals = by_counter_[wait.counter];
    for (std::uint32_t i = wait.value; i-- > 0;) {
      visit(signals[i]);
      if (signals.front().unit == signals[i].unit) break;
    }
  }

 private:
  std::vector<std::vector<Position>> by_counter_;
};

/// Calls visit(position, signals) for each step that can run.
template <typename Visit>
void visit_steps(const TaskProgram& program, const Visit& visit) {
  Signals signals(program);
  std::vector<std::uint32_t> next(program.units.size(), 0);
  for (bool advanced = true; advanced;) {
    advanced = false;
    for (UnitNumber unit = 0; unit < program.units.size(); ++unit)
      for (const std::vector<Step>& steps = program.units[unit];
           next[unit] < steps.size() && signals.have_passed(steps[next[unit]]); ++next[unit]) {
        const Position at{unit, next[unit]};
        visit(at, signals);
        signals.add(steps[at.index], at);
        advanced = true;
      }
  }
}

}  // namespace lemma::backend
