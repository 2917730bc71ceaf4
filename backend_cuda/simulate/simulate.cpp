#include "backend_cuda/simulate/simulate.h"

#include <algorithm>

#include "backend_cuda/schedule/schedule.h"

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
  const double launch = program.device.seconds_per_launch;
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

std::uint64_t largest_live_bytes(const TaskProgram& program) {
  const std::vector<Buffer>& buffers = program.graph.buffers;
  const auto times = planned_times(program);
  std::vector<std::optional<Span>> lives(buffers.size());
  for (std::size_t unit = 0; unit < times.size(); ++unit)
    for (std::size_t i = 0; i < times[unit].size(); ++i) {
      const auto& [from, to] = times[unit][i];
      const Task task = program.units[unit][i].task;
      const TaskAccess& access = program.accesses[task.op][task.number];
      std::vector<BufferNumber> touched;
      for (const Region& write : access.writes) touched.push_back(write.buffer);
      for (const Region& read : access.reads) touched.push_back(read.buffer);
      for (const BufferNumber buffer : touched) {
        if (!lives[buffer]) lives[buffer] = Span(from, to);
        lives[buffer]->first = std::min(lives[buffer]->first, from);
        lives[buffer]->second = std::max(lives[buffer]->second, to);
      }
    }
  std::vector<std::pair<double, std::int64_t>> changes;  // ends come before beginnings
  for (BufferNumber i = 0; i < buffers.size(); ++i) {
    if (buffers[i].memory != Memory::arena || !lives[i]) continue;
    const auto bytes = static_cast<std::int64_t>((buffers[i].bytes() + buffer_alignment - 1) /
                                                 buffer_alignment * buffer_alignment);
    changes.emplace_back(lives[i]->first, bytes);
    changes.emplace_back(lives[i]->second, -bytes);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t live = 0, most = 0;
  for (const auto& [moment, bytes] : changes) most = std::max(most, live += bytes);
  return static_cast<std::uint64_t>(most);
}

}  // namespace lemma::backend
