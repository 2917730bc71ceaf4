#include <algorithm>
#include <array>

#include "backend/schedule/attempts.h"
#include "backend/schedule/units.h"

namespace lemma::backend {

namespace {

using Wave = std::vector<OperatorNumber>;

std::vector<Wave> waves_of(const std::vector<std::vector<OperatorNumber>>& before) {
  std::vector<std::size_t> level(before.size(), 0);
  std::vector<Wave> waves;
  for (OperatorNumber op = 0; op < before.size(); ++op) {
    for (const OperatorNumber earlier : before[op])
      level[op] = std::max(level[op], level[earlier] + 1);
    waves.resize(std::max(waves.size(), level[op] + 1));
    waves[level[op]].push_back(op);
  }
  return waves;
}

/// The kernel with the least of a measure.
template <typename Measure>
std::uint32_t best_kernel(const TaskOperator& op, const Measure& measure) {
  const auto best = std::min_element(
      op.kernels.begin(), op.kernels.end(),
      [&measure](const Kernel& a, const Kernel& b) { return measure(a) < measure(b); });
  return static_cast<std::uint32_t>(best - op.kernels.begin());
}

std::uint32_t fastest_kernel(const TaskOperator& op) {
  return best_kernel(op, [](const Kernel& kernel) { return kernel.seconds_per_task; });
}

std::uint32_t most_economical_kernel(const TaskOperator& op) {
  return best_kernel(op, [](const Kernel& kernel) {
    return kernel.seconds_per_task * static_cast<double>(kernel.task_count());
  });
}

}  // namespace

Attempt attempt_waves(const OperatorGraph& graph, const VirtualDevice& device) {
  Units units(graph, device);
  for (const Wave& wave : waves_of(units.predecessors())) {
    const auto place_with = [&](auto choose) {
      for (const OperatorNumber op : wave) units.place(op, choose(graph.operators[op]));
    };
    std::int64_t tasks = 0;
    for (const OperatorNumber op : wave) {
      const TaskOperator& task_operator = graph.operators[op];
      tasks += task_operator.kernels[fastest_kernel(task_operator)].task_count();
    }
    const Units::State before = units.state();
    place_with(fastest_kernel);
    if (tasks <= device.units) continue;
    const double end = units.end();
    units.restore(before);
    place_with(most_economical_kernel);
    if (units.end() < end) continue;
    units.restore(before);
    place_with(fastest_kernel);
  }
  const double end = units.end();
  return {units.take(), end};
}

Placement place_by_waves(const OperatorGraph& graph, const VirtualDevice& device) {
  return attempt_waves(graph, device).placement;
}

Attempt attempt_waves_without_choice(const OperatorGraph& graph, const VirtualDevice& device) {
  Units units(graph, device);
  for (const Wave& wave : waves_of(units.predecessors()))
    for (const OperatorNumber op : wave)
      units.place(op, best_kernel(graph.operators[op], [&device](const Kernel& kernel) {
                    const std::int64_t rounds =
                        (kernel.task_count() + device.units - 1) / device.units;
                    return static_cast<double>(rounds) * kernel.seconds_per_task;
                  }));
  const double end = units.end();
  return {units.take(), end};
}

Placement place_by_waves_without_choice(const OperatorGraph& graph, const VirtualDevice& device) {
  return attempt_waves_without_choice(graph, device).placement;
}

Placement place_by_best(const OperatorGraph& graph, const VirtualDevice& device) {
  Attempt best = attempt_critical_path(graph, device);
  if (device.units == 1) return std::move(best.placement);
  for (const auto attempt : {attempt_waves, attempt_waves_without_choice})
    if (Attempt waves = attempt(graph, device); waves.end < best.end) best = std::move(waves);
  return std::move(best.placement);
}

std::span<const NamedPolicy> policies() {
  static constexpr std::array all = {
      NamedPolicy{"critical-path", place_by_critical_path}, NamedPolicy{"waves", place_by_waves},
      NamedPolicy{"waves-without-choice", place_by_waves_without_choice},
      NamedPolicy{"best", place_by_best}};
  return all;
}

}  // namespace lemma::backend
