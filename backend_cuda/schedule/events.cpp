#include <algorithm>
#include <utility>

#include "backend_cuda/schedule/dependencies.h"
#include "backend_cuda/schedule/schedule.h"

namespace lemma::backend {

namespace {

struct Position {
  UnitNumber unit = 0;
  std::uint32_t index = 0;
};

/// Adds steps to units, each with the waits that it needs.
class EventMaker {
 public:
  /// The program's units have no steps yet.
  explicit EventMaker(TaskProgram& program)
      : program_(program),
        clocks_(program.units.size()),
        awaited_(program.units.size()),
        known_(program.units.size(), Clock(program.units.size(), 0)) {}

  /// The next step of a unit. It begins when so many tasks of each unit have ended: those were added before it.
  Position add(UnitNumber unit, const Task& task, const Clock& needs) {
    Step step{task, {}, std::nullopt};
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
    const auto index = static_cast<std::uint32_t>(program_.units[unit].size());
    known_[unit][unit] = index;
    clocks_[unit].push_back(known_[unit]);
    awaited_[unit].push_back(false);
    program_.units[unit].push_back(std::move(step));
    known_[unit][unit] += 1;
    return {unit, index};
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

 private:
  static void merge(Clock& into, const Clock& other) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
  }

  TaskProgram& program_;
  std::vector<std::vector<Clock>> clocks_;  // when steps begin
  std::vector<std::vector<bool>> awaited_;
  std::vector<Clock> known_;  // by unit, after its last task
};

/// What the tasks of a placement need of each other.
class PlacedTasks {
 public:
  explicit PlacedTasks(const TaskProgram& program, Dependencies& dependencies)
      : program_(program), dependencies_(dependencies), positions_(program.graph.operators.size()) {
    for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op)
      positions_[op].resize(program.accesses[op].size());
  }

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

  void add(const Task& task, Position at) { positions_[task.op][task.number] = at; }

 private:
  const TaskProgram& program_;
  Dependencies& dependencies_;
  std::vector<std::vector<Position>> positions_;  // by operator and task
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
  EventMaker events(program);
  PlacedTasks placed(program, dependencies);
  for (const auto& [task, unit] : placement.tasks)
    placed.add(task, events.add(unit, task, placed.needs_of(task)));
  events.count_signals();
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

double planned_end(const TaskProgram& program) {
  double end = 0;
  for (const auto& unit : planned_times(program))
    if (!unit.empty()) end = std::max(end, unit.back().second);
  return end;
}

std::vector<std::vector<double>> planned_slack(const TaskProgram& program) {
  const auto times = planned_times(program);
  std::vector<std::pair<Position, std::vector<Position>>> order;  // steps, and what they wait for
  visit_in_order(program, [&](UnitNumber unit, std::uint32_t index, const auto& signals) {
    order.push_back({{unit, index}, {}});
    for (const Wait& wait : program.units[unit][index].waits)
      if (wait.value != 0) order.back().second.push_back(signals[wait.counter][wait.value - 1]);
  });
  const double end = planned_end(program);
  std::vector<std::vector<double>> latest_end;
  for (const auto& unit : times) latest_end.emplace_back(unit.size(), end);
  std::vector<std::vector<double>> slack = latest_end;
  std::reverse(order.begin(), order.end());
  for (const auto& [at, awaited] : order) {
    const auto [from, to] = times[at.unit][at.index];
    const double latest_begin = latest_end[at.unit][at.index] - (to - from);
    slack[at.unit][at.index] = std::max(0.0, latest_begin - from);
    if (at.index > 0) {
      double& before = latest_end[at.unit][at.index - 1];
      before = std::min(before, latest_begin);
    }
    for (const Position other : awaited) {
      const double event = other.unit == at.unit ? 0 : program.device.seconds_per_event;
      double& before = latest_end[other.unit][other.index];
      before = std::min(before, latest_begin - event);
    }
  }
  return slack;
}

void add_needs(TaskProgram& program, const StepNeeds& needs) {
  const auto times = planned_times(program);
  std::vector<Position> order;
  StepNeeds all = needs;
  visit_in_order(program, [&](UnitNumber unit, std::uint32_t index, const auto& signals) {
    order.push_back({unit, index});
    Clock& needed = all[unit][index];
    needed.resize(program.units.size(), 0);
    for (const Wait& wait : program.units[unit][index].waits) {
      if (wait.value == 0) continue;
      const Position at = signals[wait.counter][wait.value - 1];
      needed[at.unit] = std::max(needed[at.unit], at.index + 1);
    }
  });
  // Steps that begin at the same time stay in an order that the waits allow.
  std::stable_sort(order.begin(), order.end(), [&times](Position a, Position b) {
    return times[a.unit][a.index].first < times[b.unit][b.index].first;
  });
  const std::vector<std::vector<Step>> steps =
      std::exchange(program.units, std::vector<std::vector<Step>>(program.units.size()));
  EventMaker events(program);
  for (const Position at : order)
    events.add(at.unit, steps[at.unit][at.index].task, all[at.unit][at.index]);
  events.count_signals();
}

}  // namespace lemma::backend
