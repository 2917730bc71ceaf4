#pragma once
// Elimination with memory: each entry of a table is a front of (seconds, bytes) of which none is better in everything.

#include <optional>

#include "plans/choice/eliminate.h"

namespace lemma::choice {

/// Fronts have bytes for at most so many moments.
inline constexpr std::size_t most_front_moments = 4;

struct FrontOptions {
  std::uint64_t most_points = 3'000'000;  // that are made in all
  Stop stop = {};
};

struct FrontOutcome {
  bool is_complete = false;      // else there were too many points, or the search was stopped
  std::optional<Values> values;  // the best choice within the memory; none: nothing fits
  std::uint64_t points = 0;
};

/// The best choice within the memory, if the points suffice; never where the model has more moments. What takes more than
/// `known` is left out.
FrontOutcome best_by_fronts(const Model& model, double known, const FrontOptions& options = {});

}  // namespace lemma::choice
