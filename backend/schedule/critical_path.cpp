#include <algorithm>
#include <array>
#include <set>

#include "backend/schedule/attempts.h"
#include "backend/schedule/units.h"

namespace lemma::backend {

namespace {

/// The least time of an operator, with all units to itself.
double least_seconds(const TaskOperator& op, const VirtualDevice& device) {
  double least = 0;
  for (const Kernel& kernel : op.kernels) {
    const auto rounds =
        static_cast<double>((kernel.task_count() + device.units - 1) / device.units);
    const double seconds = rounds * kernel.seconds_per_task;
    if (least == 0 || seconds < least) least = seconds;
  }
  return least;
}

/// The length of the longest path that begins with each operator.
std::vector<double> path_lengths(const OperatorGraph& graph, const VirtualDevice& device,
                                 const std::vector<std::vector<OperatorNumber>>& before) {
  std::vector<double> after(graph.operators.size(), 0);
  for (std::size_t op = graph.operators.size(); op-- > 0;) {
    after[op] += least_seconds(graph.operators[op], device);
    for (const OperatorNumber earlier : before[op])
      after[earlier] = std::max(after[earlier], after[op]);
  }
  return after;
}

/// Kernels of more tasks end sooner, but take more time of the units.
std::uint32_t choose_kernel(Units& units, const TaskOperator& op, OperatorNumber number,
                            const VirtualDevice& device, double work_weight) {
  std::uint32_t best = 0;
  double least = 0;
  for (std::uint32_t kernel = 0; kernel < op.kernels.size(); ++kernel) {
    const double work = static_cast<double>(op.kernels[kernel].task_count()) *
                        op.kernels[kernel].seconds_per_task / device.units;
    const auto [end, saved] = units.outcome_with(number, kernel);
    const double score = end + work_weight * (work - saved / device.units);
    if (kernel != 0 && score >= least) continue;
    best = kernel;
    least = score;
  }
  return best;
}

Attempt place_with_weight(const OperatorGraph& graph, const VirtualDevice& device,
                          double work_weight) {
  Units units(graph, device);
  const auto& before = units.predecessors();
  const std::vector<double> length = path_lengths(graph, device, before);
  std::vector<std::vector<OperatorNumber>> after(graph.operators.size());
  std::vector<std::size_t> open(graph.operators.size());
  std::set<std::pair<double, OperatorNumber>> ready;  // by descending length
  for (OperatorNumber op = 0; op < graph.operators.size(); ++op) {
    for (const OperatorNumber earlier : before[op]) after[earlier].push_back(op);
    open[op] = before[op].size();
    if (open[op] == 0) ready.emplace(-length[op], op);
  }
  while (!ready.empty()) {
    const OperatorNumber op = ready.begin()->second;
    ready.erase(ready.begin());
    units.place(op, choose_kernel(units, graph.operators[op], op, device, work_weight));
    for (const OperatorNumber later : after[op])
      if (--open[later] == 0) ready.emplace(-length[later], later);
  }
  const double end = units.end();
  return {units.take(), end};
}

/// Tasks that are placed on trial when the graph is placed once.
std::int64_t trials_of(const OperatorGraph& graph) {
  std::int64_t count = 0;
  for (const TaskOperator& op : graph.operators)
    for (const Kernel& kernel : op.kernels) count += kernel.task_count();
  return count;
}

}  // namespace

Attempt attempt_critical_path(const OperatorGraph& graph, const VirtualDevice& device) {
  // How much the time of other units counts depends on whether there is other work for them. Which weight ends first is
  // tried, as long as that is quick.
  constexpr std::array weights = {1.0, 3.0, 0.3, 0.0};
  constexpr std::int64_t most_trials = 1'500'000;
  const std::int64_t trials = std::max<std::int64_t>(1, trials_of(graph));
  Attempt best = place_with_weight(graph, device, weights[0]);
  for (std::size_t i = 1; i < weights.size(); ++i) {
    if (static_cast<std::int64_t>(i + 1) * trials > most_trials || device.units == 1) break;
    Attempt attempt = place_with_weight(graph, device, weights[i]);
    if (attempt.end < best.end) best = std::move(attempt);
  }
  return best;
}

Placement place_by_critical_path(const OperatorGraph& graph, const VirtualDevice& device) {
  return attempt_critical_path(graph, device).placement;
}

}  // namespace lemma::backend
