#pragma once
// Exact search where all choices of the first variables are kept together, without those that another is at least as good as
// in everything: the values that later variables see are the same, and it takes no more seconds and no more memory.

#include <optional>

#include "plans/choice/eliminate.h"

namespace lemma::choice {

struct LayerOptions {
  std::uint64_t most_states = 400'000;  // that are made in all
  Stop stop = {};
};

struct LayerOutcome {
  std::optional<Values> values;  // the best that takes less than what was known, within the memory
  bool is_complete = false;      // else there were too many states, or the search was stopped
  std::uint64_t states = 0;
};

/// As `search`: `elimination` may have priced memory, and `price_of_room` is what all the room costs then.
LayerOutcome best_by_layers(const Model& model, const Elimination& elimination,
                            double price_of_room, double known, const LayerOptions& options = {});

/// Variables so that those are eliminated last, and decided first, whose memory is there first.
std::vector<VariableNumber> order_by_moments(const Model& model);

}  // namespace lemma::choice
