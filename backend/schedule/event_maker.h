#pragma once
// Gives the steps of a program the waits and signals that they need.

#include "backend/schedule/schedule.h"
#include "backend/schedule/visit_steps.h"

namespace lemma::backend {

/// Steps of one operator on different units: the first that each unit runs of it, or the second ones, and so on. They may
/// share a counter, so that one wait is for all of them.
struct Round {
  std::vector<Position> steps;
  double ready = 0;  // when steps of other units may begin as planned: after an event

  // Of an EventMaker.
  std::size_t missing = 0;  // steps that have not been added
  Clock known;              // by unit: how many tasks have ended once all steps have
  std::size_t waits = 0, waits_saved = 0;
};

class EventMaker {
 public:
  /// The program's units have no steps yet.
  explicit EventMaker(TaskProgram& program, std::vector<Round> rounds = {});

  /// The next step of a unit. It begins when so many tasks of each unit have ended: those were added before it. It may
  /// wait for a round where that is ready when the step begins as planned.
  Position add(UnitNumber unit, const Task& task, const Clock& needs, double planned_begin = 0);

  /// Counts signals. Only what is waited for is signalled: values of waits become numbers of
  /// signals.
  void count_signals();

  const std::vector<Round>& rounds() const { return rounds_; }

 private:
  using RoundNumber = std::uint32_t;
  static constexpr RoundNumber no_round = 0xffffffffU;

  RoundNumber round_of(Position at) const;
  void wait_for_rounds(UnitNumber unit, Step& step, const std::vector<Position>& candidates,
                       double planned_begin);
  void end_of_round(Round& round);

  TaskProgram& program_;
  std::vector<std::vector<Clock>> clocks_;  // when steps begin
  std::vector<std::vector<bool>> awaited_;  // by a wait for the unit's counter
  std::vector<Clock> known_;                // by unit, after its last task
  std::vector<Round> rounds_;
  std::vector<std::vector<RoundNumber>> round_of_;  // by unit and step; empty without rounds
};

/// A step, how many tasks of each unit it needs to have ended, and when it begins as planned.
struct NeededStep {
  UnitNumber unit = 0;
  Task task;
  Clock needs;
  double begin = 0;
};
using NeededSteps = std::vector<NeededStep>;
/// All steps of a program with what they wait for and what they need beside that, in an order of planned beginnings that
/// the waits allow.
NeededSteps needed_steps(const TaskProgram& program, StepNeeds needs);

}  // namespace lemma::backend
