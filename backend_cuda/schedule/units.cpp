#include "backend_cuda/schedule/units.h"

#include <algorithm>
#include <set>

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
      dependencies_(graph),
      predecessors_(backend::predecessors(graph)),
      free_(device.units, 0),
      placed_(graph.operators.size()) {
  placement_.kernels.resize(graph.operators.size(), 0);
}

void Units::Ready::add(double end, UnitNumber on) {
  if (!has_any || on == unit) {
    last = std::max(last, end);
    unit = on;
  } else if (end > last) {
    elsewhere = std::max(elsewhere, last);
    last = end;
    unit = on;
  } else {
    elsewhere = std::max(elsewhere, end);
  }
  has_any = true;
}

void Units::Ready::add(const Ready& other) {
  if (!other.has_any) return;
  add(other.last, other.unit);
  // Nothing is known of where the others run: they count as being elsewhere.
  elsewhere = std::max(elsewhere, other.elsewhere);
}

std::vector<Units::Ready> Units::ready_times(OperatorNumber op, std::uint32_t kernel) {
  const auto count = static_cast<std::size_t>(graph_->operators[op].kernels[kernel].task_count());
  std::vector<Ready> result(count);
  for (const Dependencies::Source& source : dependencies_.sources(op)) {
    const TaskLists& lists =
        dependencies_.tasks(source, placement_.kernels[source.writer], op, kernel);
    std::vector<Ready> groups(lists.lists.size());
    for (std::size_t group = 0; group < groups.size(); ++group)
      for (const std::uint32_t task : lists.lists[group])
        groups[group].add(placed_[source.writer][task].end, placed_[source.writer][task].unit);
    for (std::size_t task = 0; task < count; ++task) result[task].add(groups[lists.group[task]]);
  }
  return result;
}

Units::Plan Units::plan(OperatorNumber op, std::uint32_t kernel) {
  const double seconds = graph_->operators[op].kernels[kernel].seconds_per_task;
  const double event = device_->seconds_per_event;
  std::vector<double> free = free_;
  std::set<std::pair<double, UnitNumber>> order;
  for (UnitNumber unit = 0; unit < device_->units; ++unit) order.emplace(free[unit], unit);
  Plan plan;
  for (const Ready& ready : ready_times(op, kernel)) {
    const double there = ready.has_any ? ready.last + event : 0;
    auto chosen = order.upper_bound({there, device_->units});
    if (chosen != order.begin()) --chosen;
    double begin = std::max(there, chosen->first);
    if (ready.has_any) {
      const double at_home = std::max(
          {free[ready.unit], ready.last, ready.elsewhere > 0 ? ready.elsewhere + event : 0.0});
      if (at_home <= begin) {
        begin = at_home;
        chosen = order.find({free[ready.unit], ready.unit});
      }
    }
    const UnitNumber unit = chosen->second;
    order.erase(chosen);
    free[unit] = begin + seconds;
    order.emplace(free[unit], unit);
    plan.tasks.push_back({free[unit], unit});
    plan.end = std::max(plan.end, free[unit]);
  }
  return plan;
}

void Units::place(OperatorNumber op, std::uint32_t kernel) {
  Plan chosen = plan(op, kernel);
  placement_.kernels[op] = kernel;
  for (std::uint32_t task = 0; task < chosen.tasks.size(); ++task) {
    const auto [end, unit] = chosen.tasks[task];
    placement_.tasks.push_back({{op, task}, unit});
    free_[unit] = std::max(free_[unit], end);
  }
  placed_[op] = std::move(chosen.tasks);
}

void Units::restore(const State& state) {
  free_ = state.free;
  placement_.tasks.resize(state.tasks);
}

double Units::end() const { return *std::max_element(free_.begin(), free_.end()); }

}  // namespace lemma::backend
