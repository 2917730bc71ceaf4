#pragma once
// Planned time on the units of a device: the mechanism that policies place tasks with.

#include "backend/schedule/dependencies.h"
#include "backend/schedule/held_weights.h"
#include "backend/schedule/placement.h"

namespace lemma::backend {

class Units {
 public:
  Units(const OperatorGraph& graph, const VirtualDevice& device);

  struct Outcome {
    double end = 0;
    double saved = 0;  // by tasks that find their weights in their unit, of the time of all
  };
  /// When the operator would have ended with the kernel, after all that has been placed.
  Outcome outcome_with(OperatorNumber op, std::uint32_t kernel) { return plan(op, kernel).outcome; }
  /// Places its tasks, each where it begins first; of units that are free when it can begin, on the one that is free
  /// last. A task whose weights a unit keeps goes there if it ends no later so. Where none keeps them, it goes to the one
  /// that keeps least, of those where it begins first.
  void place(OperatorNumber op, std::uint32_t kernel);
  /// When all that has been placed has ended.
  double end() const;

  struct State {
    std::vector<double> free;
    std::size_t tasks = 0, held = 0;
  };
  /// The state now; what a policy tries later can be taken back.
  State state() const { return {free_, placement_.tasks.size(), held_.state()}; }
  void restore(const State& state);

  const std::vector<std::vector<OperatorNumber>>& predecessors() const { return predecessors_; }
  Placement take() { return std::move(placement_); }

 private:
  struct Placed {
    double end = 0;
    UnitNumber unit = 0;
  };
  struct Plan {
    std::vector<Placed> tasks;
    Outcome outcome;
  };
  /// When results are there: at `there` on one unit, on all others after an event.
  struct Ready {
    double last = 0;       // the last of all to end
    UnitNumber unit = 0;   // where it runs
    double elsewhere = 0;  // the last of those that run on other units
    bool has_any = false;

    void add(double end, UnitNumber on);
    void add(const Ready& other);
    /// On a unit, if an event takes so long.
    double at(UnitNumber there, double event) const;
  };
  /// Where and when a task would run.
  struct Choice {
    UnitNumber unit = 0;
    double begin = 0, seconds = 0;
  };

  Plan plan(OperatorNumber op, std::uint32_t kernel);
  void prefer_holders(HeldWeights::Number needed, const Ready& ready,
                      const std::vector<double>& free, double with_residents, Choice& choice) const;
  /// When each task of the operator is ready.
  std::vector<Ready> ready_times(OperatorNumber op, std::uint32_t kernel);

  const OperatorGraph* graph_;
  const VirtualDevice* device_;
  Dependencies dependencies_;
  HeldWeights held_;
  std::vector<std::vector<OperatorNumber>> predecessors_;
  std::vector<double> free_;                 // by unit: when it has ended what it was given
  std::vector<std::vector<Placed>> placed_;  // by operator and task
  Placement placement_;
};

}  // namespace lemma::backend
