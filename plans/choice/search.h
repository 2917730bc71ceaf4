#pragma once
// Branch and bound: variables get values in the order of an elimination, whose messages bound what is still to come.

#include <optional>

#include "plans/choice/eliminate.h"

namespace lemma::choice {

struct SearchOptions {
  std::uint64_t most_states = 200'000;  // values that are tried
  Stop stop = {};
};

struct SearchOutcome {
  std::optional<Values> values;  // better than what was known, within the memory
  double seconds = 0;            // of them
  /// Whether all was looked at: then nothing is better than `values`, or than what was known.
  bool is_complete = false;
  std::uint64_t states = 0;
};

/// A choice within the memory that takes less than `known`. `elimination` may have priced memory; `price_of_room` is then
/// what all the room costs, so that its bound minus this is one of seconds.
SearchOutcome search(const Model& model, const Elimination& elimination, double price_of_room,
                     double known, const SearchOptions& options = {});

}  // namespace lemma::choice
