#include <algorithm>
#include <array>

#include "backend_cuda/schedule/units.h"

namespace lemma::backend {

namespace {

using Wave = std::vector<OperatorNumber>;

std::vector<Wave> waves_of(const std::vector<std::vector<OperatorNumber>>& before) {
  std::vector<std::size_t> level(before.size(), 0);
  std::vector<Wave> waves;
  for (OperatorNumber op = 0; op < before.size(); ++op) {
    for (const OperatorNumber one : before[op]) level[op] = std::max(level[op], level[one] + 1);
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

Placement place_by_waves(const OperatorGraph& graph, const VirtualDevice& device) {
  Units units(graph, device);
  for (const Wave& wave : waves_of(units.predecessors())) {
    Units fast = units;
    std::int64_t tasks = 0;
    for (const OperatorNumber op : wave) {
      const std::uint32_t kernel = fastest_kernel(graph.operators[op]);
      tasks += graph.operators[op].kernels[kernel].task_count();
      fast.place(op, kernel);
    }
    if (tasks > device.units) {
      Units economical = units;
      for (const OperatorNumber op : wave)
        economical.place(op, most_economical_kernel(graph.operators[op]));
      if (economical.end() < fast.end()) fast = std::move(economical);
    }
    units = std::move(fast);
  }
  return units.take();
}

std::span<const NamedPolicy> policies() {
  static constexpr std::array all = {NamedPolicy{"critical-path", place_by_critical_path},
                                     NamedPolicy{"waves", place_by_waves}};
  return all;
}

}  // namespace lemma::backend
