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

/// The kernel with which an operator ends first if it has so many units to itself.
std::uint32_t kernel_for(const TaskOperator& op, std::uint32_t units) {
  const auto seconds = [units](const Kernel& kernel) {
    const std::int64_t rounds = (kernel.task_count() + units - 1) / units;
    return static_cast<double>(rounds) * kernel.seconds_per_task;
  };
  const auto best = std::min_element(
      op.kernels.begin(), op.kernels.end(),
      [&seconds](const Kernel& a, const Kernel& b) { return seconds(a) < seconds(b); });
  return static_cast<std::uint32_t>(best - op.kernels.begin());
}

class Waves {
 public:
  Waves(const OperatorGraph& graph, const VirtualDevice& device)
      : graph_(graph), device_(device), units_(graph, device) {
    waves_ = waves_of(units_.predecessors());
  }

  Attempt without_choice() {
    for (const Wave& wave : waves_) place(wave, device_.units);
    return taken();
  }

  Attempt with_choice() {
    for (std::size_t number = 0; number < waves_.size(); ++number)
      place(waves_[number], best_share(number));
    return taken();
  }

 private:
  /// Each operator with the kernel that ends first on so many units: all of them for the fastest kernel, one for that of
  /// the least work.
  void place(const Wave& wave, std::uint32_t share) {
    for (const OperatorNumber op : wave) units_.place(op, kernel_for(graph_.operators[op], share));
  }

  std::int64_t tasks_of(const Wave& wave) const {
    std::int64_t count = 0;
    for (const OperatorNumber op : wave) {
      const TaskOperator& placed = graph_.operators[op];
      count += placed.kernels[kernel_for(placed, device_.units)].task_count();
    }
    return count;
  }

  bool are_same(const Wave& wave, std::uint32_t share, std::uint32_t other) const {
    return std::all_of(wave.begin(), wave.end(), [&](OperatorNumber op) {
      return kernel_for(graph_.operators[op], share) == kernel_for(graph_.operators[op], other);
    });
  }

  /// When the wave and those after it would have ended.
  double end_with(std::size_t number, std::uint32_t share) {
    const Units::State before = units_.state();
    place(waves_[number], share);
    const std::size_t end = std::min(waves_.size(), number + 1 + waves_ahead);
    for (std::size_t next = number + 1; next < end; ++next) place(waves_[next], device_.units);
    const double seconds = units_.end();
    units_.restore(before);
    return seconds;
  }

  /// The fastest kernels, unless the wave fills the units and what follows ends sooner with more economical ones.
  std::uint32_t best_share(std::size_t number) {
    const Wave& wave = waves_[number];
    std::uint32_t best = device_.units;
    if (tasks_of(wave) <= device_.units) return best;
    double least = 0;
    for (std::uint32_t share = device_.units, last = share; share > 0; share /= 2) {
      if (share != device_.units && are_same(wave, share, last)) continue;
      const double end = end_with(number, share);
      if (share == device_.units || end < least) {
        best = share;
        least = end;
      }
      last = share;
    }
    return best;
  }

  Attempt taken() {
    const double end = units_.end();
    return {units_.take(), end};
  }

  static constexpr std::size_t waves_ahead = 1;

  const OperatorGraph& graph_;
  const VirtualDevice& device_;
  Units units_;
  std::vector<Wave> waves_;
};

}  // namespace

Attempt attempt_waves_without_choice(const OperatorGraph& graph, const VirtualDevice& device) {
  return Waves(graph, device).without_choice();
}

Attempt attempt_waves(const OperatorGraph& graph, const VirtualDevice& device) {
  Attempt fastest = attempt_waves_without_choice(graph, device);
  Attempt chosen = Waves(graph, device).with_choice();
  return chosen.end < fastest.end ? std::move(chosen) : std::move(fastest);
}

Placement place_by_waves(const OperatorGraph& graph, const VirtualDevice& device) {
  return attempt_waves(graph, device).placement;
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
