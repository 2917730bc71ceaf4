#include "plans/choice/metropolis.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "plans/choice/model.h"

namespace lemma::choice {
namespace {

class Walk {
 public:
  Walk(const Problem& problem, const Choice& start, const MetropolisOptions& options)
      : options_(options),
        merged_(merged(problem)),
        model_(merged_.model),
        pairs_(pairs_of_variables(model_)),
        random_(options.seed) {
    values_.resize(model_.variables());
    for (std::size_t node = 0; node < start.size(); ++node)
      values_[merged_.variable_of[node]] = start[node];
    for (VariableNumber variable = 0; variable < model_.variables(); ++variable)
      if (model_.values(variable) > 1) open_.push_back(variable);
    memory_ = memory_of(model_, values_);
    seconds_ = start_ = best_seconds_ = seconds_of(model_, values_);
    best_ = values_;
  }

  MetropolisOutcome operator()() && {
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t part = std::max<std::uint64_t>(1, options_.proposals / 100);
    std::uint64_t tried = 0;
    for (; tried < options_.proposals && !open_.empty(); ++tried) {
      if (tried % part == 0 && values_ != best_) {
        values_ = best_;
        seconds_ = best_seconds_;
        memory_ = memory_of(model_, values_);
      }
      if (options_.seconds && tried % 64 == 0 &&
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >
              *options_.seconds)
        break;
      propose();
    }
    // The sum of many differences is not exact.
    return {merged_.choice_of(best_), seconds_of(model_, best_), tried};
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  void propose() {
    const VariableNumber variable = open_[below(open_.size())];
    const auto value = static_cast<StrategyNumber>(below(model_.values(variable)));
    if (value == values_[variable] || !has_room(variable, value)) return;
    const double more = seconds_with(variable, value) - seconds_with(variable, values_[variable]);
    const double chance = static_cast<double>(random_() >> 11U) * 0x1p-53;
    if (!(more <= 0 || chance < std::exp(-options_.steepness * more / start_))) return;
    move_memory(variable, value);
    values_[variable] = value;
    seconds_ += more;
    if (seconds_ < best_seconds_ - 1e-12 * start_) {
      best_seconds_ = seconds_;
      best_ = values_;
    }
  }

  double seconds_with(VariableNumber variable, StrategyNumber value) const {
    double seconds = model_.seconds[variable][value];
    for (const std::uint32_t number : pairs_[variable]) {
      const Pair& pair = model_.pairs[number];
      const std::size_t first = pair.first == variable ? value : values_[pair.first];
      const std::size_t second = pair.second == variable ? value : values_[pair.second];
      seconds += pair.seconds[first * model_.values(pair.second) + second];
    }
    return seconds;
  }

  bool has_room(VariableNumber variable, StrategyNumber value) const {
    for (const Usage& usage : model_.usages[variable])
      for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment)
        if (memory_[moment] - usage.bytes[values_[variable]] + usage.bytes[value] >
            model_.room[moment])
          return false;
    return true;
  }
  void move_memory(VariableNumber variable, StrategyNumber value) {
    for (const Usage& usage : model_.usages[variable])
      for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment)
        memory_[moment] += usage.bytes[value] - usage.bytes[values_[variable]];
  }

  const MetropolisOptions& options_;
  Merged merged_;
  const Model& model_;
  std::vector<std::vector<std::uint32_t>> pairs_;
  std::mt19937_64 random_;
  std::vector<VariableNumber> open_;  // with more than one value
  Values values_, best_;
  std::vector<Bytes> memory_;
  double seconds_ = 0, start_ = 0, best_seconds_ = 0;
};

}  // namespace

MetropolisOutcome metropolis(const Problem& problem, const Choice& start,
                             const MetropolisOptions& options) {
  return Walk(problem, start, options)();
}

}  // namespace lemma::choice
