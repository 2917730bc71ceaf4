#include "plans/choice/fronts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace lemma::choice {

namespace {

constexpr std::uint32_t nothing = std::numeric_limits<std::uint32_t>::max();

using Memory = std::array<Bytes, most_front_moments>;

/// How a point was made: a variable got a value, or two points were put together.
struct Trace {
  VariableNumber variable = 0;
  StrategyNumber value = 0;
  std::uint32_t first = nothing, second = nothing;
};

struct Point {
  double seconds = 0;
  Memory memory = {};
  std::uint32_t trace = nothing;
};
using Front = std::vector<Point>;

/// Fronts by the values of some variables, as in a table.
struct FrontTable {
  std::vector<VariableNumber> scope;
  std::vector<Front> fronts;
};

class FrontEliminator {
 public:
  FrontEliminator(const Model& model, double known, const FrontOptions& options)
      : model_(model), options_(options), known_(known), values_(model.variables()) {}

  FrontOutcome run() {
    FrontOutcome outcome;
    if (!model_.is_possible) {
      outcome.is_complete = true;
      return outcome;
    }
    // The order of the elimination without memory, if that splits nothing.
    const Elimination order = eliminated(model_, model_.seconds);
    if (!order.is_exact || model_.room.size() > most_front_moments) return outcome;
    Front all = {Point{}};
    std::vector<std::vector<FrontTable>> received(model_.variables());
    const std::vector<std::size_t> places = places_of(order.order);
    for (const VariableNumber variable : order.order) {
      FrontTable table = eliminate(variable, order, received[variable]);
      received[variable].clear();
      if (is_over()) return outcome;
      if (table.scope.empty()) {
        all = least(together(all, table.fronts.front()));
        continue;
      }
      const auto next = std::min_element(
          table.scope.begin(), table.scope.end(),
          [&](VariableNumber a, VariableNumber b) { return places[a] < places[b]; });
      received[*next].push_back(std::move(table));
    }
    outcome.points = made_;
    outcome.is_complete = !is_over();
    if (outcome.is_complete && !all.empty()) outcome.values = traced(all.front());
    return outcome;
  }

 private:
  static std::vector<std::size_t> places_of(const std::vector<VariableNumber>& order) {
    std::vector<std::size_t> places(order.size());
    for (std::size_t at = 0; at < order.size(); ++at) places[order[at]] = at;
    return places;
  }

  std::uint32_t add_trace(Trace trace) {
    traces_.push_back(trace);
    return static_cast<std::uint32_t>(traces_.size() - 1);
  }

  std::uint32_t joined_trace(std::uint32_t first, std::uint32_t second) {
    if (first == nothing || second == nothing) return first == nothing ? second : first;
    return add_trace({nothing, 0, first, second});
  }

  bool is_over() const { return made_ > options_.most_points || is_stopped(options_.stop); }

  bool is_useless(const Point& point) const {
    if (!(point.seconds <= known_ + 1e-9 * std::abs(known_))) return true;
    for (std::size_t moment = 0; moment < model_.room.size(); ++moment)
      if (point.memory[moment] > model_.room[moment]) return true;
    return false;
  }

  /// All sums of a point of one and a point of the other.
  Front together(const Front& first, const Front& second) {
    Front result;
    for (const Point& a : first)
      for (const Point& b : second) {
        if (++made_ > options_.most_points) return result;
        Point sum{a.seconds + b.seconds, a.memory, nothing};
        for (std::size_t moment = 0; moment < model_.room.size(); ++moment)
          sum.memory[moment] += b.memory[moment];
        if (is_useless(sum)) continue;
        sum.trace = joined_trace(a.trace, b.trace);
        result.push_back(sum);
      }
    return result;
  }

  /// Without points that another is at least as good as in everything. The fastest is first.
  Front least(Front front) const {
    std::stable_sort(front.begin(), front.end(), [](const Point& a, const Point& b) {
      return a.seconds != b.seconds ? a.seconds < b.seconds : a.memory < b.memory;
    });
    Front result;
    for (const Point& point : front) {
      if (model_.room.size() == 1) {  // the last one needs the least memory
        if (result.empty() || point.memory[0] < result.back().memory[0]) result.push_back(point);
        continue;
      }
      const bool is_worse = std::any_of(result.rbegin(), result.rend(), [&](const Point& other) {
        for (std::size_t moment = 0; moment < model_.room.size(); ++moment)
          if (other.memory[moment] > point.memory[moment]) return false;
        return true;
      });
      if (!is_worse) result.push_back(point);
    }
    return result;
  }

  /// A variable with a value, where those of `values_` around it have theirs.
  Front with_value(VariableNumber variable, StrategyNumber value, const Elimination& order,
                   const std::vector<FrontTable>& received);
  FrontTable eliminate(VariableNumber variable, const Elimination& order,
                       const std::vector<FrontTable>& received);
  std::size_t place(const std::vector<VariableNumber>& scope) const {
    std::size_t place = 0;
    for (const VariableNumber variable : scope)
      place = place * model_.values(variable) + values_[variable];
    return place;
  }
  Values traced(const Point& point) const;

  const Model& model_;
  FrontOptions options_;
  double known_ = 0;
  Values values_;
  std::vector<Trace> traces_;
  std::uint64_t made_ = 0;
};

Front FrontEliminator::with_value(VariableNumber variable, StrategyNumber value,
                                  const Elimination& order,
                                  const std::vector<FrontTable>& received) {
  values_[variable] = value;
  Point point{model_.seconds[variable][value], {}, nothing};
  for (const std::uint32_t number : order.inside[variable])
    if (number < model_.pairs.size())  // the others are messages without memory
      point.seconds += order.tables[number].seconds[order.tables[number].place(values_)];
  for (const Usage& usage : model_.usages[variable])
    for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment)
      point.memory[moment] += usage.bytes[value];
  ++made_;
  if (is_useless(point)) return {};
  point.trace = add_trace({variable, value, nothing, nothing});
  Front front = {point};
  for (const FrontTable& table : received)
    front = least(together(front, table.fronts[place(table.scope)]));
  return front;
}

FrontTable FrontEliminator::eliminate(VariableNumber variable, const Elimination& order,
                                      const std::vector<FrontTable>& received) {
  // The scope is that of the message which elimination without memory has sent.
  FrontTable table{order.tables[order.outgoing[variable].front()].scope, {}};
  for (const VariableNumber other : table.scope) values_[other] = 0;
  while (true) {
    Front front;
    for (StrategyNumber value = 0; value < model_.values(variable); ++value) {
      const Front of_value = with_value(variable, value, order, received);
      front.insert(front.end(), of_value.begin(), of_value.end());
      if (is_over()) return table;
    }
    table.fronts.push_back(least(std::move(front)));
    std::size_t at = table.scope.size();
    while (at > 0 && ++values_[table.scope[at - 1]] == model_.values(table.scope[at - 1]))
      values_[table.scope[--at]] = 0;
    if (at == 0) return table;
  }
}

Values FrontEliminator::traced(const Point& point) const {
  Values values(model_.variables());
  std::vector<std::uint32_t> open;
  if (point.trace != nothing) open.push_back(point.trace);
  while (!open.empty()) {
    const Trace& trace = traces_[open.back()];
    open.pop_back();
    if (trace.variable != nothing) values[trace.variable] = trace.value;
    if (trace.first != nothing) open.push_back(trace.first);
    if (trace.second != nothing) open.push_back(trace.second);
  }
  return values;
}

}  // namespace

FrontOutcome best_by_fronts(const Model& model, double known, const FrontOptions& options) {
  return FrontEliminator(model, known, options).run();
}

}  // namespace lemma::choice
