#include "backend/schedule/units.h"

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
      held_(graph, device, dependencies_),
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

double Units::Ready::at(UnitNumber there, double event) const {
  if (!has_any) return 0;
  if (there != unit) return last + event;
  return std::max(last, elsewhere > 0 ? elsewhere + event : 0.0);
}

void Units::prefer_holders(HeldWeights::Number needed, const Ready& ready,
                           const std::vector<double>& free, double with_residents,
                           Choice& choice) const {
  const std::vector<UnitNumber>& holders = held_.holders(needed);
  for (const UnitNumber unit : holders) {
    const double begin = std::max(free[unit], ready.at(unit, device_->seconds_per_event));
    if (begin + with_residents <= choice.begin + choice.seconds)
      choice = {unit, begin, with_residents};
  }
  if (!holders.empty()) return;
  for (UnitNumber unit = 0; unit < free.size(); ++unit)
    if (held_.bytes(unit) < held_.bytes(choice.unit) &&
        std::max(free[unit], ready.at(unit, device_->seconds_per_event)) <= choice.begin)
      choice.unit = unit;
}

Units::Plan Units::plan(OperatorNumber op, std::uint32_t kernel) {
  const Kernel& cut = graph_->operators[op].kernels[kernel];
  const double event = device_->seconds_per_event;
  const std::vector<HeldWeights::Number>& needs = held_.needs(op, kernel);
  std::vector<double> free = free_;
  std::set<std::pair<double, UnitNumber>> order;
  for (UnitNumber unit = 0; unit < device_->units; ++unit) order.emplace(free[unit], unit);
  Plan plan;
  for (const Ready& ready : ready_times(op, kernel)) {
    const double there = ready.has_any ? ready.last + event : 0;
    auto next = order.upper_bound({there, device_->units});
    if (next != order.begin()) --next;
    Choice choice{next->second, std::max(there, next->first), cut.seconds_per_task};
    if (ready.has_any) {
      const double at_home = std::max(free[ready.unit], ready.at(ready.unit, event));
      if (at_home <= choice.begin) {
        choice.begin = at_home;
        choice.unit = ready.unit;
      }
    }
    if (!needs.empty() && needs[plan.tasks.size()] != HeldWeights::none)
      prefer_holders(needs[plan.tasks.size()], ready, free, cut.seconds_with_residents, choice);
    order.erase({free[choice.unit], choice.unit});
    free[choice.unit] = choice.begin + choice.seconds;
    order.emplace(free[choice.unit], choice.unit);
    plan.tasks.push_back({free[choice.unit], choice.unit});
    plan.outcome.end = std::max(plan.outcome.end, free[choice.unit]);
    plan.outcome.saved += cut.seconds_per_task - choice.seconds;
  }
  return plan;
}

void Units::place(OperatorNumber op, std::uint32_t kernel) {
  Plan chosen = plan(op, kernel);
  const std::vector<HeldWeights::Number>& needs = held_.needs(op, kernel);
  placement_.kernels[op] = kernel;
  for (std::uint32_t task = 0; task < chosen.tasks.size(); ++task) {
    const auto [end, unit] = chosen.tasks[task];
    placement_.tasks.push_back({{op, task}, unit});
    free_[unit] = std::max(free_[unit], end);
    if (!needs.empty() && needs[task] != HeldWeights::none) held_.add(needs[task], unit);
  }
  placed_[op] = std::move(chosen.tasks);
}

void Units::restore(const State& state) {
  free_ = state.free;
  placement_.tasks.resize(state.tasks);
  held_.restore(state.held);
}

double Units::end() const { return *std::max_element(free_.begin(), free_.end()); }

}  // namespace lemma::backend
