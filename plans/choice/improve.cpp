#include "plans/choice/improve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "plans/choice/layers.h"
#include "plans/choice/prices.h"

namespace lemma::choice {

namespace {

/// A choice, what is there at each moment, and how both change.
class State {
 public:
  State(const Model& model, Values values)
      : model_(model),
        values_(std::move(values)),
        memory_(memory_of(model, values_)),
        pairs_(pairs_of_variables(model)) {}

  const Model& model() const { return model_; }
  const Values& values() const { return values_; }
  const std::vector<Bytes>& memory() const { return memory_; }
  const std::vector<std::uint32_t>& pairs_of(VariableNumber variable) const {
    return pairs_[variable];
  }

  /// What a variable takes with each value, with its pairs; `except` is left out.
  std::vector<double> seconds_by_value(VariableNumber variable, std::uint32_t except) const {
    std::vector<double> seconds = model_.seconds[variable];
    for (const std::uint32_t number : pairs_[variable])
      if (number != except) add_pair(variable, model_.pairs[number], seconds);
    return seconds;
  }

  void add_pair(VariableNumber variable, const Pair& pair, std::vector<double>& seconds) const {
    const std::size_t columns = model_.values(pair.second);
    for (std::size_t value = 0; value < seconds.size(); ++value)
      seconds[value] += pair.first == variable
                            ? pair.seconds[value * columns + values_[pair.second]]
                            : pair.seconds[values_[pair.first] * columns + value];
  }

  void set(VariableNumber variable, StrategyNumber value) {
    for (const Usage& usage : model_.usages[variable])
      for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment)
        memory_[moment] = memory_[moment] + usage.bytes[value] - usage.bytes[values_[variable]];
    values_[variable] = value;
  }

  /// Bytes above the room, over all moments of the variable, if it had this value.
  Bytes excess(VariableNumber variable, StrategyNumber value) const {
    Bytes sum = 0;
    // Usages of a variable may overlap: the first one that covers a moment looks at it.
    const std::vector<Usage>& usages = model_.usages[variable];
    for (std::size_t at = 0; at < usages.size(); ++at)
      for (std::uint32_t moment = usages[at].begin; moment < usages[at].end; ++moment) {
        Bytes bytes = memory_[moment];
        bool is_first = true;
        for (std::size_t other = 0; other < usages.size(); ++other) {
          if (moment < usages[other].begin || moment >= usages[other].end) continue;
          is_first = is_first && other >= at;
          bytes = bytes + usages[other].bytes[value] - usages[other].bytes[values_[variable]];
        }
        if (is_first && bytes > model_.room[moment]) sum += bytes - model_.room[moment];
      }
    return sum;
  }

  bool is_within() const {
    for (std::size_t moment = 0; moment < memory_.size(); ++moment)
      if (memory_[moment] > model_.room[moment]) return false;
    return true;
  }

 private:
  const Model& model_;
  Values values_;
  std::vector<Bytes> memory_;
  std::vector<std::vector<std::uint32_t>> pairs_;
};

constexpr std::uint32_t no_pair = std::numeric_limits<std::uint32_t>::max();

/// A change that frees memory, by seconds for each byte.
struct Freeing {
  double price = 0;
  VariableNumber variable = 0;
  StrategyNumber value = 0;
};

std::vector<Freeing> freeings_of(const State& state) {
  std::vector<Freeing> freeings;
  for (VariableNumber variable = 0; variable < state.model().variables(); ++variable) {
    const StrategyNumber current = state.values()[variable];
    const Bytes before = state.excess(variable, current);
    if (before == 0) continue;
    const std::vector<double> seconds = state.seconds_by_value(variable, no_pair);
    for (StrategyNumber value = 0; value < seconds.size(); ++value) {
      const Bytes after = state.excess(variable, value);
      if (after >= before || std::isinf(seconds[value])) continue;
      const double more = std::isinf(seconds[current]) ? 0 : seconds[value] - seconds[current];
      freeings.push_back({more / static_cast<double>(before - after), variable, value});
    }
  }
  std::stable_sort(freeings.begin(), freeings.end(),
                   [](const Freeing& a, const Freeing& b) { return a.price < b.price; });
  return freeings;
}

/// One variable: the best value that fits. Whether it was changed.
bool improve_variable(State& state, VariableNumber variable) {
  const std::vector<double> seconds = state.seconds_by_value(variable, no_pair);
  StrategyNumber best = state.values()[variable];
  for (StrategyNumber value = 0; value < seconds.size(); ++value)
    if (seconds[value] < seconds[best] * (1 - 1e-12) && state.excess(variable, value) == 0)
      best = value;
  if (best == state.values()[variable]) return false;
  state.set(variable, best);
  return true;
}

/// Two variables that are connected.
bool improve_pair(State& state, std::uint32_t number) {
  const Pair& pair = state.model().pairs[number];
  const std::vector<double> first = state.seconds_by_value(pair.first, number);
  const std::vector<double> second = state.seconds_by_value(pair.second, number);
  const StrategyNumber old_first = state.values()[pair.first];
  const StrategyNumber old_second = state.values()[pair.second];
  double least =
      first[old_first] + second[old_second] + pair.seconds[old_first * second.size() + old_second];
  least -= 1e-12 * least;
  StrategyNumber best_first = old_first, best_second = old_second;
  for (StrategyNumber a = 0; a < first.size(); ++a)
    for (StrategyNumber b = 0; b < second.size(); ++b) {
      const double sum = first[a] + second[b] + pair.seconds[a * second.size() + b];
      if (!(sum < least)) continue;
      state.set(pair.first, a), state.set(pair.second, b);
      if (state.is_within()) least = sum, best_first = a, best_second = b;
    }
  state.set(pair.first, best_first), state.set(pair.second, best_second);
  return best_first != old_first || best_second != old_second;
}

/// Variables around one of them, in the order of a breadth-first search whose next steps are drawn.
std::vector<VariableNumber> variables_around(const State& state, VariableNumber start,
                                             std::size_t most, std::mt19937& random) {
  std::vector<VariableNumber> part = {start};
  std::vector<bool> is_in(state.model().variables(), false);
  is_in[start] = true;
  for (std::size_t at = 0; at < part.size() && part.size() < most; ++at) {
    std::vector<std::uint32_t> pairs = state.pairs_of(part[at]);
    for (std::size_t left = pairs.size(); left > 1; --left)
      std::swap(pairs[left - 1], pairs[random() % left]);
    for (const std::uint32_t number : pairs) {
      const Pair& pair = state.model().pairs[number];
      const VariableNumber other = pair.first == part[at] ? pair.second : pair.first;
      if (is_in[other] || part.size() >= most) continue;
      is_in[other] = true;
      part.push_back(other);
    }
  }
  std::sort(part.begin(), part.end());
  return part;
}

/// The problem of some variables, where all others keep their values.
class Part {
 public:
  Part(const State& state, std::vector<VariableNumber> variables, const std::vector<double>& prices)
      : state_(state), variables_(std::move(variables)) {
    for (const VariableNumber variable : variables_)
      model_.seconds.push_back(state.model().seconds[variable]);
    model_.usages.resize(variables_.size());
    add_pairs();
    add_memory(prices);
  }
  const Model& model() const { return model_; }
  const std::vector<double>& prices() const { return prices_; }
  Values values() const {
    Values values;
    for (const VariableNumber variable : variables_) values.push_back(state_.values()[variable]);
    return values;
  }

 private:
  std::size_t place(VariableNumber variable) const {
    const auto at = std::lower_bound(variables_.begin(), variables_.end(), variable);
    return at != variables_.end() && *at == variable
               ? static_cast<std::size_t>(at - variables_.begin())
               : variables_.size();
  }

  void add_pairs() {
    for (std::size_t at = 0; at < variables_.size(); ++at)
      for (const std::uint32_t number : state_.pairs_of(variables_[at])) {
        const Pair& pair = state_.model().pairs[number];
        const std::size_t first = place(pair.first), second = place(pair.second);
        if (first == variables_.size() || second == variables_.size())
          state_.add_pair(variables_[at], pair, model_.seconds[at]);
        else if (first == at)
          model_.pairs.push_back({static_cast<VariableNumber>(first),
                                  static_cast<VariableNumber>(second), pair.seconds});
      }
  }

  /// Moments between which nothing of the part comes or goes are one, with the least room of them.
  void add_memory(const std::vector<double>& prices) {
    std::vector<std::uint32_t> ends;
    for (const VariableNumber variable : variables_)
      for (const Usage& usage : state_.model().usages[variable])
        ends.push_back(usage.begin), ends.push_back(usage.end);
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    if (ends.empty()) return;
    const auto at = [&](std::uint32_t moment) {
      return static_cast<std::uint32_t>(std::lower_bound(ends.begin(), ends.end(), moment) -
                                        ends.begin());
    };
    std::vector<Bytes> own(state_.memory().size());
    for (std::size_t number = 0; number < variables_.size(); ++number)
      for (Usage usage : state_.model().usages[variables_[number]]) {
        const Bytes bytes = usage.bytes[state_.values()[variables_[number]]];
        for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment) own[moment] += bytes;
        usage.begin = at(usage.begin), usage.end = at(usage.end);
        model_.usages[number].push_back(std::move(usage));
      }
    for (std::size_t number = 0; number + 1 < ends.size(); ++number) {
      Bytes room = std::numeric_limits<Bytes>::max();
      double price = 0;
      for (std::uint32_t moment = ends[number]; moment < ends[number + 1]; ++moment) {
        room = std::min(room, state_.model().room[moment] + own[moment] - state_.memory()[moment]);
        price += prices.empty() ? 0 : prices[moment];
      }
      prices_.push_back(price);
      model_.room.push_back(room);
    }
  }

  const State& state_;
  std::vector<VariableNumber> variables_;
  Model model_;
  std::vector<double> prices_;
};

void improve_part(State& state, const std::vector<VariableNumber>& variables,
                  const ImproveOptions& options) {
  const Part part(state, variables, options.prices);
  const double price = price_of_room(part.model(), part.prices());
  const Elimination elimination =
      eliminated(part.model(), priced_seconds(part.model(), part.prices()),
                 {std::size_t{1} << 12U, 10'000'000, 1024, order_by_moments(part.model())});
  const double known = seconds_of(part.model(), part.values());
  if (!(elimination.bound - price < known * (1 - 1e-9))) return;
  const LayerOutcome outcome =
      best_by_layers(part.model(), elimination, price, known, {options.most_states});
  if (!outcome.values) return;
  for (std::size_t at = 0; at < variables.size(); ++at)
    state.set(variables[at], (*outcome.values)[at]);
}

void improve_steps(State& state) {
  constexpr int most_passes = 20;
  bool is_changed = true;
  for (int pass = 0; pass < most_passes && is_changed; ++pass) {
    is_changed = false;
    for (VariableNumber variable = 0; variable < state.model().variables(); ++variable)
      is_changed = improve_variable(state, variable) || is_changed;
    for (std::uint32_t pair = 0; pair < state.model().pairs.size(); ++pair)
      is_changed = improve_pair(state, pair) || is_changed;
  }
}

}  // namespace

std::optional<Values> repaired(const Model& model, Values values) {
  if (!model.is_possible) return std::nullopt;
  State state(model, std::move(values));
  constexpr int most_passes = 50;
  for (int pass = 0; pass < most_passes && !state.is_within(); ++pass) {
    bool is_changed = false;
    for (const Freeing& freeing : freeings_of(state)) {
      // Earlier changes may have freed enough, or made this one useless.
      const Bytes before = state.excess(freeing.variable, state.values()[freeing.variable]);
      if (before == 0 || state.excess(freeing.variable, freeing.value) >= before) continue;
      state.set(freeing.variable, freeing.value);
      is_changed = true;
    }
    if (!is_changed) return std::nullopt;
  }
  if (!state.is_within() || std::isinf(seconds_of(model, state.values()))) return std::nullopt;
  return state.values();
}

Values improved(const Model& model, Values values, const ImproveOptions& options) {
  State state(model, std::move(values));
  improve_steps(state);
  if (model.variables() == 0) return state.values();
  std::vector<VariableNumber> order = order_by_moments(model);
  std::mt19937 random(1);
  for (int round = 0; round < options.rounds && !is_stopped(options.stop); ++round) {
    const std::size_t start = random() % model.variables();
    if (round % 2 == 0) {
      const auto around = static_cast<VariableNumber>(start);
      improve_part(state, variables_around(state, around, options.variables, random), options);
      continue;
    }
    const std::size_t end = std::min(start + options.variables, order.size());
    std::vector<VariableNumber> window(order.begin() + static_cast<std::ptrdiff_t>(start),
                                       order.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(window.begin(), window.end());
    improve_part(state, window, options);
  }
  if (!is_stopped(options.stop)) improve_steps(state);
  return state.values();
}

}  // namespace lemma::choice
