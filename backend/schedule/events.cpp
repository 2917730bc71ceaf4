#include <algorithm>
#include <utility>

#include "backend/schedule/dependencies.h"
#include "backend/schedule/event_maker.h"
#include "backend/schedule/schedule.h"
#include "backend/schedule/visit_steps.h"

namespace lemma::backend {

namespace {

/// What the tasks of a placement need of each other.
class PlacedTasks {
 public:
  explicit PlacedTasks(const TaskProgram& program, Dependencies& dependencies)
      : program_(program), dependencies_(dependencies), positions_(program.graph.operators.size()) {
    for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op)
      positions_[op].resize(program.accesses[op].size());
  }

  /// How many tasks of each unit the task needs to have ended.
  Clock needs_of(const Task& task) {
    Clock needs(program_.units.size(), 0);
    const std::vector<std::uint32_t>& kernels = program_.chosen_kernels;
    for (const Dependencies::Source& source : dependencies_.sources(task.op)) {
      const TaskLists& lists =
          dependencies_.tasks(source, kernels[source.writer], task.op, kernels[task.op]);
      for (const std::uint32_t awaited : lists.lists[lists.group[task.number]]) {
        const Position at = positions_[source.writer][awaited];
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

std::vector<std::vector<Clock>> clocks_of(const TaskProgram& program) {
  std::vector<std::vector<Clock>> clocks(program.units.size());
  visit_steps(program, [&](Position step, const Signals& signals) {
    Clock clock = step.index == 0 ? Clock(program.units.size(), 0) : clocks[step.unit].back();
    clock[step.unit] = step.index;
    for (const Wait& wait : program.units[step.unit][step.index].waits)
      signals.visit_awaited(wait, [&](Position at) {
        const Clock& other = clocks[at.unit][at.index];
        for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
        clock[at.unit] = std::max(clock[at.unit], at.index + 1);
      });
    clocks[step.unit].push_back(std::move(clock));
  });
  return clocks;
}

std::vector<std::vector<std::pair<double, double>>> planned_times(const TaskProgram& program) {
  std::vector<std::vector<std::pair<double, double>>> times(program.units.size());
  visit_steps(program, [&](Position position, const Signals& signals) {
    const Step& step = program.units[position.unit][position.index];
    double begin = position.index == 0 ? program.loading_seconds(position.unit)
                                       : times[position.unit].back().second;
    for (const Wait& wait : step.waits)
      signals.visit_awaited(wait, [&](Position at) {
        const double passed = times[at.unit][at.index].second +
                              (at.unit == position.unit ? 0 : program.device.seconds_per_event);
        begin = std::max(begin, passed);
      });
    times[position.unit].emplace_back(begin, begin + program.seconds_of(step.task));
  });
  return times;
}

double planned_end(const TaskProgram& program) {
  double end = program.memory_seconds();
  for (const auto& unit : planned_times(program))
    if (!unit.empty()) end = std::max(end, unit.back().second);
  return end;
}

std::vector<std::vector<double>> planned_slack(const TaskProgram& program) {
  const auto times = planned_times(program);
  std::vector<std::pair<Position, std::vector<Position>>> order;  // steps, and what they wait for
  visit_steps(program, [&](Position step, const Signals& signals) {
    order.push_back({step, {}});
    for (const Wait& wait : program.units[step.unit][step.index].waits)
      signals.visit_awaited(wait, [&](Position at) { order.back().second.push_back(at); });
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
  const NeededSteps needed = needed_steps(program, needs);
  program.units.assign(program.units.size(), {});
  EventMaker events(program);
  for (const NeededStep& step : needed) events.add(step.unit, step.task, step.needs);
  events.count_signals();
}

}  // namespace lemma::backend
