#include "plans/choice/layers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lemma::choice {

namespace {

constexpr std::uint32_t no_state = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t no_slot = std::numeric_limits<std::uint32_t>::max();
/// A state is compared with so many others: more would take too long, and to keep a useless one does no harm.
constexpr std::size_t most_compared = 300;

/// A moment at which the variable of a step has memory, or that is open around it.
struct Slot {
  std::uint32_t moment = 0;
  std::uint32_t before = no_slot, after = no_slot;  // its place among the open moments
  std::vector<Bytes> bytes;                         // by value; empty: none
};

/// What happens when a variable is decided.
struct Decision {
  VariableNumber variable = 0;
  std::vector<VariableNumber> seen_before, seen_after;  // decided variables that later ones look at
  std::vector<Slot> slots;
  std::size_t open_after = 0;
};

struct LayerState {
  double bound = 0, seconds = 0;
  std::uint32_t trace = no_state;
  std::vector<StrategyNumber> values;  // of the variables that are seen
  std::vector<Bytes> memory;           // at the open moments
};

struct LayerTrace {
  std::uint32_t before = no_state;
  StrategyNumber value = 0;
};

class Layers {
 public:
  Layers(const Model& model, const Elimination& elimination, double price_of_room, double known,
         const LayerOptions& options)
      : model_(model),
        elimination_(elimination),
        options_(options),
        price_of_room_(price_of_room),
        known_(known),
        values_(model.variables()) {}

  LayerOutcome run() {
    LayerOutcome outcome;
    if (!model_.is_possible || std::isinf(elimination_.bound)) {
      outcome.is_complete = true;
      return outcome;
    }
    const std::vector<Decision> steps = make_steps();
    std::vector<LayerState> layer(1);
    layer[0].bound = elimination_.bound;
    for (const Decision& step : steps) {
      std::vector<LayerState> next;
      for (const LayerState& state : layer) {
        extend(step, state, next);
        if (made_ > options_.most_states || is_stopped(options_.stop)) return outcome;
      }
      layer = without_useless(std::move(next));
    }
    outcome.is_complete = true;
    outcome.states = made_;
    const auto best = std::min_element(
        layer.begin(), layer.end(),
        [](const LayerState& a, const LayerState& b) { return a.seconds < b.seconds; });
    if (best != layer.end()) outcome.values = traced(best->trace);
    return outcome;
  }

 private:
  std::vector<Decision> make_steps() const;
  void add_slots(std::vector<Decision>& steps) const;
  void extend(const Decision& step, const LayerState& state, std::vector<LayerState>& next);
  bool add_memory(const Decision& step, const LayerState& state, StrategyNumber value,
                  std::vector<Bytes>& memory) const;
  double seconds_of_value(VariableNumber variable, StrategyNumber value);
  static std::vector<LayerState> without_useless(std::vector<LayerState> states);

  /// Sums in another order differ in their last digits.
  bool is_no_better(double bound) const {
    const double seconds = bound - price_of_room_;
    if (std::isinf(known_)) return std::isinf(seconds);
    return !(seconds < known_ - 1e-9 * std::abs(known_));
  }

  Values traced(std::uint32_t trace) const {
    Values values(model_.variables());
    // The variable that was decided last is the first of the elimination.
    for (std::size_t at = 0; trace != no_state; trace = traces_[trace].before, ++at)
      values[elimination_.order[at]] = traces_[trace].value;
    return values;
  }

  const Model& model_;
  const Elimination& elimination_;
  LayerOptions options_;
  double price_of_room_ = 0, known_ = 0;
  Values values_;
  std::vector<LayerTrace> traces_;
  std::uint64_t made_ = 0;
};

std::vector<Decision> Layers::make_steps() const {
  const std::size_t count = elimination_.order.size();
  std::vector<Decision> steps(count);
  std::vector<std::size_t> last_look(count, 0), place(count);
  for (std::size_t at = 0; at < count; ++at) {
    steps[at].variable = elimination_.order[count - 1 - at];
    place[steps[at].variable] = at;
    for (const auto* tables : {&elimination_.inside, &elimination_.outgoing})
      for (const std::uint32_t table : (*tables)[steps[at].variable])
        for (const VariableNumber other : elimination_.tables[table].scope)
          last_look[other] = std::max(last_look[other], at);
  }
  std::vector<VariableNumber> seen;
  for (std::size_t at = 0; at < count; ++at) {
    steps[at].seen_before = seen;
    seen.push_back(steps[at].variable);
    std::erase_if(seen, [&](VariableNumber variable) { return last_look[variable] <= at; });
    steps[at].seen_after = seen;
  }
  add_slots(steps);
  return steps;
}

/// Moments are open after the first variable that has memory there, until the last one.
void Layers::add_slots(std::vector<Decision>& steps) const {
  const std::size_t moments = model_.room.size();
  std::vector<std::size_t> last(moments, 0);
  for (std::size_t at = 0; at < steps.size(); ++at)
    for (const Usage& usage : model_.usages[steps[at].variable])
      for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment) last[moment] = at;
  std::vector<std::uint32_t> open;
  std::vector<std::uint32_t> place(moments, no_slot);
  for (std::size_t at = 0; at < steps.size(); ++at) {
    std::vector<Slot>& slots = steps[at].slots;
    std::vector<std::uint32_t> slot_of(moments, no_slot);
    for (const std::uint32_t moment : open) {
      slot_of[moment] = static_cast<std::uint32_t>(slots.size());
      slots.push_back({moment, slot_of[moment], no_slot, {}});
    }
    for (const Usage& usage : model_.usages[steps[at].variable])
      for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment) {
        if (slot_of[moment] == no_slot) {
          slot_of[moment] = static_cast<std::uint32_t>(slots.size());
          slots.push_back({moment, no_slot, no_slot, {}});
        }
        std::vector<Bytes>& bytes = slots[slot_of[moment]].bytes;
        bytes.resize(usage.bytes.size());
        for (std::size_t value = 0; value < bytes.size(); ++value)
          bytes[value] += usage.bytes[value];
      }
    open.clear();
    for (Slot& slot : slots) {
      if (last[slot.moment] <= at) continue;
      slot.after = static_cast<std::uint32_t>(open.size());
      open.push_back(slot.moment);
    }
    steps[at].open_after = open.size();
  }
}

/// Whether there is room for the value.
bool Layers::add_memory(const Decision& step, const LayerState& state, StrategyNumber value,
                        std::vector<Bytes>& memory) const {
  memory.assign(step.open_after, 0);
  for (const Slot& slot : step.slots) {
    const Bytes bytes = (slot.before == no_slot ? 0 : state.memory[slot.before]) +
                        (slot.bytes.empty() ? 0 : slot.bytes[value]);
    if (bytes > model_.room[slot.moment]) return false;
    if (slot.after != no_slot) memory[slot.after] = bytes;
  }
  return true;
}

/// Without prices: of the variable, and of its pairs with variables that are decided.
double Layers::seconds_of_value(VariableNumber variable, StrategyNumber value) {
  values_[variable] = value;
  double seconds = model_.seconds[variable][value];
  for (const std::uint32_t number : elimination_.inside[variable])
    if (number < model_.pairs.size())
      seconds += elimination_.tables[number].seconds[elimination_.tables[number].place(values_)];
  return seconds;
}

void Layers::extend(const Decision& step, const LayerState& state, std::vector<LayerState>& next) {
  for (std::size_t at = 0; at < step.seen_before.size(); ++at)
    values_[step.seen_before[at]] = state.values[at];
  const std::vector<double> added = increases(elimination_, step.variable, values_);
  for (StrategyNumber value = 0; value < added.size(); ++value) {
    const double bound = state.bound + added[value];
    if (is_no_better(bound)) continue;
    LayerState longer;
    if (!add_memory(step, state, value, longer.memory)) continue;
    ++made_;
    longer.bound = bound;
    longer.seconds = state.seconds + seconds_of_value(step.variable, value);
    longer.trace = static_cast<std::uint32_t>(traces_.size());
    traces_.push_back({state.trace, value});
    for (const VariableNumber seen : step.seen_after) longer.values.push_back(values_[seen]);
    next.push_back(std::move(longer));
  }
}

std::vector<LayerState> Layers::without_useless(std::vector<LayerState> states) {
  std::stable_sort(states.begin(), states.end(), [](const LayerState& a, const LayerState& b) {
    if (a.values != b.values) return a.values < b.values;
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.memory < b.memory;
  });
  std::vector<LayerState> kept;
  std::size_t first = 0;  // of those that see the same values
  for (LayerState& state : states) {
    if (first < kept.size() && kept[first].values != state.values) first = kept.size();
    const std::size_t last = std::min(kept.size(), first + most_compared);
    const bool is_useless =
        std::any_of(kept.begin() + static_cast<std::ptrdiff_t>(first),
                    kept.begin() + static_cast<std::ptrdiff_t>(last), [&](const LayerState& other) {
                      for (std::size_t at = 0; at < state.memory.size(); ++at)
                        if (other.memory[at] > state.memory[at]) return false;
                      return true;
                    });
    if (!is_useless) kept.push_back(std::move(state));
  }
  return kept;
}

}  // namespace

LayerOutcome best_by_layers(const Model& model, const Elimination& elimination,
                            double price_of_room, double known, const LayerOptions& options) {
  return Layers(model, elimination, price_of_room, known, options).run();
}

std::vector<VariableNumber> order_by_moments(const Model& model) {
  std::vector<std::uint32_t> moment(model.variables(), 0);
  for (VariableNumber variable = 0; variable < model.variables(); ++variable) {
    // Variables without memory stay where they are between others.
    moment[variable] = variable > 0 ? moment[variable - 1] : 0;
    if (model.usages[variable].empty()) continue;
    moment[variable] = model.usages[variable].front().begin;
    for (const Usage& usage : model.usages[variable])
      moment[variable] = std::min(moment[variable], usage.begin);
  }
  std::vector<VariableNumber> order(model.variables());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](VariableNumber a, VariableNumber b) { return moment[a] < moment[b]; });
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace lemma::choice
