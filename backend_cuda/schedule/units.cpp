#include "backend_cuda/schedule/units.h"

#include <algorithm>
#include <queue>

namespace lemma::backend {

std::vector<std::vector<OperatorNumber>> predecessors(const OperatorGraph& graph) {
  std::vector<std::optional<OperatorNumber>> producers(graph.buffers.size());
  std::vector<std::vector<OperatorNumber>> result(graph.operators.size());
  for (OperatorNumber op = 0; op < graph.operators.size(); ++op) {
    for (const BufferNumber operand : graph.operators[op].operands())
      if (const auto producer = producers[operand]) result[op].push_back(*producer);
    std::sort(result[op].begin(), result[op].end());
    result[op].erase(std::unique(result[op].begin(), result[op].end()), result[op].end());
    for (const BufferNumber made : graph.operators[op].results()) producers[made] = op;
  }
  return result;
}

Units::Units(const OperatorGraph& graph, const VirtualDevice& device)
    : graph_(&graph),
      device_(&device),
      predecessors_(backend::predecessors(graph)),
      free_(device.units, 0),
      ends_(graph.operators.size()) {
  placement_.kernels.resize(graph.operators.size(), 0);
}

Units::Plan Units::plan(OperatorNumber op, std::uint32_t kernel) const {
  const Kernel& chosen = graph_->operators[op].kernels[kernel];
  using Moment = std::pair<double, UnitNumber>;
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> next;
  for (UnitNumber unit = 0; unit < device_->units; ++unit) {
    double begin = free_[unit];
    for (const OperatorNumber before : predecessors_[op])
      for (UnitNumber other = 0; other < device_->units; ++other)
        if (ends_[before][other] > 0)
          begin = std::max(begin,
                           ends_[before][other] + (other == unit ? 0 : device_->seconds_per_event));
    next.emplace(begin, unit);
  }
  Plan plan;
  plan.ends.resize(device_->units, 0);
  for (std::int64_t task = 0; task < chosen.task_count(); ++task) {
    const auto [begin, unit] = next.top();
    next.pop();
    const double end = begin + chosen.seconds_per_task;
    plan.units.push_back(unit);
    plan.ends[unit] = end;
    plan.end = std::max(plan.end, end);
    next.emplace(end, unit);
  }
  return plan;
}

double Units::end_with(OperatorNumber op, std::uint32_t kernel) const {
  return plan(op, kernel).end;
}

void Units::place(OperatorNumber op, std::uint32_t kernel) {
  Plan chosen = plan(op, kernel);
  placement_.kernels[op] = kernel;
  for (std::uint32_t task = 0; task < chosen.units.size(); ++task)
    placement_.tasks.push_back({{op, task}, chosen.units[task]});
  for (UnitNumber unit = 0; unit < device_->units; ++unit)
    free_[unit] = std::max(free_[unit], chosen.ends[unit]);
  ends_[op] = std::move(chosen.ends);
}

double Units::end() const { return *std::max_element(free_.begin(), free_.end()); }

}  // namespace lemma::backend
