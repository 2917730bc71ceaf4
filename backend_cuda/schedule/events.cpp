#include <algorithm>

#include "backend_cuda/schedule/dependencies.h"
#include "backend_cuda/schedule/schedule.h"

namespace lemma::backend {

namespace {

struct Position {
  UnitNumber unit = 0;
  std::uint32_t index = 0;
};

class EventMaker {
 public:
  EventMaker(TaskProgram& program, const Placement& placement, Dependencies& dependencies)
      : program_(program),
        placement_(placement),
        dependencies_(dependencies),
        positions_(program.graph.operators.size()),
        clocks_(program.units.size()),
        awaited_(program.units.size()),
        known_(program.units.size(), Clock(program.units.size(), 0)) {
    for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op)
      positions_[op].resize(program.accesses[op].size());
  }

  void run() {
    for (const PlacedTask& placed : placement_.tasks) add(placed);
    count_signals();
  }

 private:
  /// By unit: how many of its tasks the task needs to have ended.
  Clock needs_of(const Task& task) {
    Clock needs(program_.units.size(), 0);
    const std::vector<std::uint32_t>& kernels = program_.chosen_kernels;
    for (const Dependencies::Source& source : dependencies_.sources(task.op)) {
      const TaskLists& lists =
          dependencies_.tasks(source, kernels[source.writer], task.op, kernels[task.op]);
      for (const std::uint32_t one : lists.lists[lists.group[task.number]]) {
        const Position at = positions_[source.writer][one];
        needs[at.unit] = std::max(needs[at.unit], at.index + 1);
      }
    }
    return needs;
  }

  void add(const PlacedTask& placed) {
    const UnitNumber unit = placed.unit;
    std::vector<Step>& steps = program_.units[unit];
    Step step{placed.task, {}, std::nullopt};
    const Clock needs = needs_of(placed.task);
    // What is known after one wait may make another needless: those that tell most come first.
    std::vector<Position> candidates;
    for (UnitNumber other = 0; other < needs.size(); ++other)
      if (other != unit && needs[other] > known_[unit][other])
        candidates.push_back({other, needs[other] - 1});
    std::stable_sort(candidates.begin(), candidates.end(), [this](Position a, Position b) {
      return clocks_[a.unit][a.index][b.unit] > b.index;
    });
    for (const Position at : candidates) {
      if (known_[unit][at.unit] > at.index) continue;
      step.waits.push_back({at.unit, at.index + 1});
      awaited_[at.unit][at.index] = true;
      merge(known_[unit], clocks_[at.unit][at.index]);
      known_[unit][at.unit] = std::max(known_[unit][at.unit], at.index + 1);
    }
    positions_[placed.task.op][placed.task.number] = {unit,
                                                      static_cast<std::uint32_t>(steps.size())};
    known_[unit][unit] = static_cast<std::uint32_t>(steps.size());
    clocks_[unit].push_back(known_[unit]);
    awaited_[unit].push_back(false);
    steps.push_back(std::move(step));
    known_[unit][unit] += 1;
  }

  static void merge(Clock& into, const Clock& other) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
  }

  /// Only what is waited for is signalled: values of waits become numbers of signals.
  void count_signals() {
    std::vector<std::vector<std::uint32_t>> counts(program_.units.size());
    for (UnitNumber unit = 0; unit < program_.units.size(); ++unit) {
      std::uint32_t count = 0;
      for (std::size_t i = 0; i < program_.units[unit].size(); ++i) {
        if (awaited_[unit][i]) {
          ++count;
          program_.units[unit][i].signal = unit;
        }
        counts[unit].push_back(count);
      }
    }
    for (std::vector<Step>& steps : program_.units)
      for (Step& step : steps)
        for (Wait& wait : step.waits) wait.value = counts[wait.counter][wait.value - 1];
    program_.counters = static_cast<std::uint32_t>(program_.units.size());
  }

  TaskProgram& program_;
  const Placement& placement_;
  Dependencies& dependencies_;
  std::vector<std::vector<Position>> positions_;  // by operator and task
  std::vector<std::vector<Clock>> clocks_;        // when steps begin
  std::vector<std::vector<bool>> awaited_;
  std::vector<Clock> known_;  // by unit, after its last task
};

}  // namespace

TaskProgram make_program(OperatorGraph graph, const VirtualDevice& device,
                         const Placement& placement) {
  TaskProgram program;
  program.graph = std::move(graph);
  program.device = device;
  program.chosen_kernels = placement.kernels;
  program.units.resize(device.units);
  Dependencies dependencies(program.graph);
  for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op)
    program.accesses.push_back(dependencies.accesses_of(op, program.chosen_kernels[op]));
  EventMaker(program, placement, dependencies).run();
  return program;
}

namespace {

/// Calls visit(unit, index, signals) for each step after all that it waits for, where signals[c][k] is the
/// position of signal k of counter c.
template <typename Visit>
void visit_in_order(const TaskProgram& program, const Visit& visit) {
  std::vector<std::vector<Position>> signals(program.counters);
  std::vector<std::uint32_t> next(program.units.size(), 0);
  const auto is_ready = [&signals](const Step& step) {
    return std::all_of(step.waits.begin(), step.waits.end(), [&signals](const Wait& wait) {
      return signals[wait.counter].size() >= wait.value;
    });
  };
  for (bool advanced = true; advanced;) {
    advanced = false;
    for (UnitNumber unit = 0; unit < program.units.size(); ++unit)
      while (next[unit] < program.units[unit].size() && is_ready(program.units[unit][next[unit]])) {
        const Step& step = program.units[unit][next[unit]];
        visit(unit, next[unit], signals);
        if (step.signal) signals[*step.signal].push_back({unit, next[unit]});
        ++next[unit];
        advanced = true;
      }
  }
}

}  // namespace

std::vector<std::vector<Clock>> clocks_of(const TaskProgram& program) {
  std::vector<std::vector<Clock>> clocks(program.units.size());
  visit_in_order(program, [&](UnitNumber unit, std::uint32_t index, const auto& signals) {
    Clock clock = index == 0 ? Clock(program.units.size(), 0) : clocks[unit].back();
    clock[unit] = index;
    for (const Wait& wait : program.units[unit][index].waits) {
      if (wait.value == 0) continue;
      const Position at = signals[wait.counter][wait.value - 1];
      const Clock& other = clocks[at.unit][at.index];
      for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
      clock[at.unit] = std::max(clock[at.unit], at.index + 1);
    }
    clocks[unit].push_back(std::move(clock));
  });
  return clocks;
}

std::vector<std::vector<std::pair<double, double>>> planned_times(const TaskProgram& program) {
  std::vector<std::vector<std::pair<double, double>>> times(program.units.size());
  visit_in_order(program, [&](UnitNumber unit, std::uint32_t index, const auto& signals) {
    const Step& step = program.units[unit][index];
    double begin = index == 0 ? 0 : times[unit].back().second;
    for (const Wait& wait : step.waits) {
      if (wait.value == 0) continue;
      const Position at = signals[wait.counter][wait.value - 1];
      const double passed = times[at.unit][at.index].second +
                            (at.unit == unit ? 0 : program.device.seconds_per_event);
      begin = std::max(begin, passed);
    }
    times[unit].emplace_back(begin, begin + program.kernel(step.task.op).seconds_per_task);
  });
  return times;
}

}  // namespace lemma::backend
