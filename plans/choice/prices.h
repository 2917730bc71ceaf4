#pragma once
// Bounds with memory: each byte at a moment has a price, and the choice that is cheapest with all prices bounds what any
// choice within the memory takes (Lagrange multipliers). Cheapest choices are brought within the memory on the way.

#include <optional>

#include "plans/choice/eliminate.h"

namespace lemma::choice {

struct PriceOptions {
  int rounds = 40;
  EliminationOptions elimination;
  Stop stop = {};
};

struct PriceOutcome {
  double bound = 0;              // no choice within the memory takes less
  std::vector<double> prices;    // that give the bound, seconds a byte, by moment
  std::optional<Values> values;  // the best choice within the memory that was seen
  double seconds = 0;            // of it
};

/// Seconds by variable and value, with memory at these prices.
std::vector<std::vector<double>> priced_seconds(const Model& model,
                                                const std::vector<double>& prices);
/// What all the room costs.
double price_of_room(const Model& model, const std::vector<double>& prices);

PriceOutcome bound_by_prices(const Model& model, const PriceOptions& options = {});

}  // namespace lemma::choice
