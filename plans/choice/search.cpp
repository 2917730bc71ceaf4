#include "plans/choice/search.h"

#include <algorithm>
#include <cmath>

namespace lemma::choice {

namespace {

/// What is still to be tried at a depth, best first.
struct Level {
  std::vector<std::pair<double, StrategyNumber>>
      untried;       // bound of the whole choice, and value; the last is next
  double bound = 0;  // before this variable
  bool is_set = false;
};

class Search {
 public:
  Search(const Model& model, const Elimination& elimination, double price_of_room, double known,
         const SearchOptions& options)
      : model_(model),
        elimination_(elimination),
        options_(options),
        price_of_room_(price_of_room),
        values_(model.variables()),
        memory_(model.room.size()),
        levels_(model.variables()) {
    outcome_.seconds = known;
  }

  SearchOutcome run() {
    if (!model_.is_possible || std::isinf(elimination_.bound)) {
      outcome_.is_complete = true;
      return std::move(outcome_);
    }
    std::size_t depth = 0;
    if (levels_.empty())
      take_leaf();
    else
      open(0, elimination_.bound);
    while (!levels_.empty()) {
      Level& level = levels_[depth];
      const VariableNumber variable = variable_at(depth);
      if (level.is_set) change_memory(variable, false), level.is_set = false;
      if (level.untried.empty() || is_no_better(level.untried.back().first)) {
        if (depth == 0) break;
        --depth;
        continue;
      }
      if (outcome_.states >= options_.most_states || is_stopped(options_.stop))
        return std::move(outcome_);
      ++outcome_.states;
      const auto [bound, value] = level.untried.back();
      level.untried.pop_back();
      values_[variable] = value;
      if (!has_room(variable)) continue;
      change_memory(variable, true);
      level.is_set = true;
      if (depth + 1 == levels_.size())
        take_leaf();
      else
        open(++depth, bound);
    }
    outcome_.is_complete = true;
    return std::move(outcome_);
  }

 private:
  VariableNumber variable_at(std::size_t depth) const {
    return elimination_.order[elimination_.order.size() - 1 - depth];
  }

  /// Sums in another order differ in their last digits.
  bool is_no_better(double bound) const {
    const double seconds = bound - price_of_room_;
    if (std::isinf(outcome_.seconds)) return std::isinf(seconds);
    return !(seconds < outcome_.seconds - 1e-9 * std::abs(outcome_.seconds));
  }

  void open(std::size_t depth, double bound) {
    Level& level = levels_[depth];
    level.untried.clear();
    values_[variable_at(depth)] = 0;
    const std::vector<double> added = increases(elimination_, variable_at(depth), values_);
    for (StrategyNumber value = 0; value < added.size(); ++value)
      if (!is_no_better(bound + added[value]))
        level.untried.emplace_back(bound + added[value], value);
    std::sort(level.untried.begin(), level.untried.end(), std::greater<>());
  }

  bool has_room(VariableNumber variable) const {
    for (const Usage& usage : model_.usages[variable])
      for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment)
        if (memory_[moment] + usage.bytes[values_[variable]] > model_.room[moment]) return false;
    return true;
  }

  void change_memory(VariableNumber variable, bool adds) {
    for (const Usage& usage : model_.usages[variable]) {
      const Bytes bytes = usage.bytes[values_[variable]];
      for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment)
        memory_[moment] = adds ? memory_[moment] + bytes : memory_[moment] - bytes;
    }
  }

  void take_leaf() {
    const double seconds = seconds_of(model_, values_);
    if (!(seconds < outcome_.seconds) || !fits(model_, values_)) return;
    outcome_.values = values_;
    outcome_.seconds = seconds;
  }

  const Model& model_;
  const Elimination& elimination_;
  SearchOptions options_;
  double price_of_room_ = 0;
  Values values_;
  std::vector<Bytes> memory_;
  std::vector<Level> levels_;
  SearchOutcome outcome_;
};

}  // namespace

SearchOutcome search(const Model& model, const Elimination& elimination, double price_of_room,
                     double known, const SearchOptions& options) {
  return Search(model, elimination, price_of_room, known, options).run();
}

}  // namespace lemma::choice
