#include "backend/simulate/simulate.h"

#include <algorithm>

#include "backend/schedule/schedule.h"

namespace lemma::backend {

namespace {

using Span = std::pair<double, double>;

/// How much of the time up to `end` lies in none of the spans.
double uncovered(std::vector<Span> spans, double end) {
  std::sort(spans.begin(), spans.end());
  double covered = 0, until = 0;
  for (const auto& [from, to] : spans) {
    covered += std::max(0.0, to - std::max(from, until));
    until = std::max(until, to);
  }
  return end - covered;
}

}  // namespace

double Simulation::utilisation(std::uint32_t units) const {
  return seconds > 0 ? busy_seconds / (seconds * units) : 0;
}

Simulation simulate(const TaskProgram& program) {
  Simulation result;
  std::vector<Span> spans;
  for (const std::vector<Span>& unit : planned_times(program))
    for (const auto& [from, to] : unit) {
      spans.emplace_back(from, to);
      result.busy_seconds += to - from;
      result.seconds = std::max(result.seconds, to);
    }
  result.seconds = std::max(result.seconds, program.memory_seconds());
  double launch = program.device.seconds_per_launch;
  if (program.units.size() > 1) launch += program.device.seconds_to_start_units;
  result.outside_seconds = launch + uncovered(std::move(spans), result.seconds);
  result.seconds += launch;
  return result;
}

Simulation simulate_operator_by_operator(const OperatorGraph& graph, const VirtualDevice& device,
                                         double seconds_between) {
  Simulation result;
  for (const TaskOperator& op : graph.operators) {
    double least = 0, busy = 0;
    for (const Kernel& kernel : op.kernels) {
      const std::int64_t rounds = (kernel.task_count() + device.units - 1) / device.units;
      const double seconds = static_cast<double>(rounds) * kernel.seconds_per_task;
      if (least != 0 && seconds >= least) continue;
      least = seconds;
      busy = static_cast<double>(kernel.task_count()) * kernel.seconds_per_task;
    }
    result.seconds += seconds_between + least;
    result.outside_seconds += seconds_between;
    result.busy_seconds += busy;
  }
  return result;
}

}  // namespace lemma::backend
