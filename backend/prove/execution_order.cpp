#include "backend/prove/execution_order.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma::backend {

namespace {

/// The steps that signal a counter, by unit in their order.
using Signals = std::vector<std::vector<std::uint32_t>>;

class Execution {
 public:
  explicit Execution(const TaskProgram& program)
      : program_(program),
        signals_(program.counters, Signals(program.units.size())),
        counts_(program.counters, 0),
        next_(program.units.size(), 0),
        ended_(program.units.size()) {
    for (UnitNumber unit = 0; unit < program.units.size(); ++unit)
      for (std::uint32_t i = 0; i < program.units[unit].size(); ++i)
        for (const CounterNumber counter : program.units[unit][i].signals)
          signals_[counter][unit].push_back(i);
  }

  /// Counters only grow, so that a step that can run now can run later as well: if this order gets stuck, each does.
  Result<std::vector<OrderedStep>> run() {
    std::vector<OrderedStep> order;
    for (bool advanced = true; advanced;) {
      advanced = false;
      for (UnitNumber unit = 0; unit < program_.units.size(); ++unit)
        while (can_advance(unit)) {
          advanced = true;
          order.push_back(advance(unit));
        }
    }
    for (UnitNumber unit = 0; unit < program_.units.size(); ++unit)
      if (next_[unit] < program_.units[unit].size())
        return internal_error(
            fmt::format("unit {} waits for ever before its task {}", unit, next_[unit]));
    return order;
  }

 private:
  bool can_advance(UnitNumber unit) const {
    if (next_[unit] == program_.units[unit].size()) return false;
    const std::vector<Wait>& waits = program_.units[unit][next_[unit]].waits;
    return std::all_of(waits.begin(), waits.end(),
                       [this](const Wait& wait) { return counts_[wait.counter] >= wait.value; });
  }

  OrderedStep advance(UnitNumber unit) {
    const std::uint32_t index = next_[unit]++;
    const Step& step = program_.units[unit][index];
    OrderedStep result{unit, index, std::vector<std::uint32_t>(program_.units.size(), 0)};
    if (index > 0) result.ended = ended_[unit][index - 1];
    for (const Wait& wait : step.waits) learn(unit, wait, result.ended);
    ended_[unit].push_back(result.ended);
    ended_[unit].back()[unit] = index + 1;
    for (const CounterNumber counter : step.signals) ++counts_[counter];
    return result;
  }

  /// At least the value less all signals of the other units came from each unit. Those of the waiting unit that come
  /// later did not.
  void learn(UnitNumber waiting, const Wait& wait, std::vector<std::uint32_t>& ended) const {
    const Signals& signals = signals_[wait.counter];
    const auto count = [&](UnitNumber unit) {
      const std::vector<std::uint32_t>& own = signals[unit];
      if (unit != waiting) return own.size();
      return static_cast<std::size_t>(std::lower_bound(own.begin(), own.end(), next_[unit] - 1) -
                                      own.begin());
    };
    std::size_t total = 0;
    for (UnitNumber unit = 0; unit < program_.units.size(); ++unit) total += count(unit);
    for (UnitNumber unit = 0; unit < program_.units.size(); ++unit) {
      const std::size_t others = total - count(unit);
      if (wait.value <= others) continue;
      const std::uint32_t last = signals[unit][wait.value - others - 1];
      const std::vector<std::uint32_t>& then = ended_[unit][last];
      for (std::size_t i = 0; i < ended.size(); ++i) ended[i] = std::max(ended[i], then[i]);
    }
  }

  const TaskProgram& program_;
  std::vector<Signals> signals_;                                // by counter
  std::vector<std::uint32_t> counts_;                           // by counter: signals so far
  std::vector<std::uint32_t> next_;                             // by unit
  std::vector<std::vector<std::vector<std::uint32_t>>> ended_;  // by unit and step: after it
};

}  // namespace

Result<std::vector<OrderedStep>> execution_order(const TaskProgram& program) {
  return Execution(program).run();
}

}  // namespace lemma::backend
