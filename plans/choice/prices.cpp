#include "plans/choice/prices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plans/choice/improve.h"

namespace lemma::choice {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

class Pricing {
 public:
  Pricing(const Model& model, const PriceOptions& options) : model_(model), options_(options) {
    outcome_.prices.assign(model.room.size(), 0);
    outcome_.bound = -infinite;
    outcome_.seconds = infinite;
  }

  PriceOutcome run() {
    if (model_.room.size() == 1)
      one_moment();
    else
      many_moments();
    return std::move(outcome_);
  }

 private:
  /// A cheapest choice, and what it takes.
  struct Seen {
    double seconds = 0, bound = 0;
    std::vector<Bytes> memory;
  };

  Seen look(const std::vector<double>& prices) {
    const Elimination elimination =
        eliminated(model_, priced_seconds(model_, prices), options_.elimination);
    Seen seen;
    seen.bound = elimination.bound - price_of_room(model_, prices);
    if (seen.bound > outcome_.bound) outcome_.bound = seen.bound, outcome_.prices = prices;
    const Values values = decided(elimination);
    seen.seconds = seconds_of(model_, values);
    seen.memory = memory_of(model_, values);
    if (const auto fitting = repaired(model_, values)) {
      const double seconds = seconds_of(model_, *fitting);
      if (seconds < outcome_.seconds) outcome_.seconds = seconds, outcome_.values = fitting;
    }
    return seen;
  }

  /// The bound is a concave function of one price, the least of lines: one for each choice. The next price is where the lines
  /// of a choice that needs too much and of one that fits meet.
  void one_moment() {
    Seen over = look({0});
    const Bytes room = model_.room[0];
    if (over.memory[0] <= room || std::isinf(over.seconds)) return;
    double price = std::max(over.seconds, 1e-12) / static_cast<double>(std::max<Bytes>(room, 1));
    Seen within = look({price});
    int round = 0;
    for (; within.memory[0] > room && has_round(round); ++round) {
      over = within;
      price *= 4;
      within = look({price});
    }
    for (; has_round(round) && within.memory[0] <= room; ++round) {
      const double difference = static_cast<double>(over.memory[0] - within.memory[0]);
      const double next = (within.seconds - over.seconds) / difference;
      if (!(next > 0) || std::isinf(next)) return;
      const Seen seen = look({next});
      const double line =
          over.seconds + next * (static_cast<double>(over.memory[0]) - static_cast<double>(room));
      if (seen.bound >= line - 1e-9 * std::abs(line)) return;  // nothing is below the lines
      if (seen.memory[0] == over.memory[0] || seen.memory[0] == within.memory[0]) return;
      (seen.memory[0] > room ? over : within) = seen;
    }
  }

  /// Steps along what is too much and too little at each moment, as long as what is known of the optimum allows.
  void many_moments() {
    std::vector<double> prices(model_.room.size(), 0);
    double length = 1;
    int without = 0;
    for (int round = 0; has_round(round); ++round) {
      const double before = outcome_.bound;
      const Seen seen = look(prices);
      if (std::isinf(seen.bound)) return;
      if (!(outcome_.bound < outcome_.seconds * (1 - 1e-9))) return;
      without = outcome_.bound > before ? 0 : without + 1;
      if (without >= 3) length /= 2, without = 0;
      double square = 0;
      std::vector<double> excess;
      for (std::size_t moment = 0; moment < prices.size(); ++moment) {
        const double over =
            (static_cast<double>(seen.memory[moment]) - static_cast<double>(model_.room[moment])) /
            scale(moment);
        excess.push_back(over);
        if (over > 0 || prices[moment] > 0) square += over * over;
      }
      if (square == 0) return;
      const double goal = std::isinf(outcome_.seconds)
                              ? seen.bound + 0.1 * std::abs(seen.bound) + 1e-12
                              : outcome_.seconds;
      const double step = length * std::max(goal - seen.bound, 0.0) / square;
      for (std::size_t moment = 0; moment < prices.size(); ++moment)
        prices[moment] = std::max(0.0, prices[moment] + step * excess[moment] / scale(moment));
    }
  }

  bool has_round(int round) const { return round < options_.rounds && !is_stopped(options_.stop); }

  double scale(std::size_t moment) const {
    return static_cast<double>(std::max<Bytes>(model_.room[moment], 1));
  }

  const Model& model_;
  PriceOptions options_;
  PriceOutcome outcome_;
};

}  // namespace

std::vector<std::vector<double>> priced_seconds(const Model& model,
                                                const std::vector<double>& prices) {
  std::vector<double> until = {0};  // sums of prices before each moment
  for (const double price : prices) until.push_back(until.back() + price);
  std::vector<std::vector<double>> seconds = model.seconds;
  for (VariableNumber variable = 0; variable < model.variables(); ++variable)
    for (const Usage& usage : model.usages[variable])
      for (std::size_t value = 0; value < usage.bytes.size(); ++value)
        seconds[variable][value] +=
            (until[usage.end] - until[usage.begin]) * static_cast<double>(usage.bytes[value]);
  return seconds;
}

double price_of_room(const Model& model, const std::vector<double>& prices) {
  double sum = 0;
  for (std::size_t moment = 0; moment < prices.size(); ++moment)
    sum += prices[moment] * static_cast<double>(model.room[moment]);
  return sum;
}

PriceOutcome bound_by_prices(const Model& model, const PriceOptions& options) {
  return Pricing(model, options).run();
}

}  // namespace lemma::choice
