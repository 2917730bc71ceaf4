#pragma once
// Choices that become better by changes of few variables, and choices that are brought within the memory.

#include <optional>

#include "plans/choice/model.h"

namespace lemma::choice {

/// Changes variables until the choice fits, those first that cost the least for what they free. Nothing: it does not succeed.
std::optional<Values> repaired(const Model& model, Values values);

struct ImproveOptions {
  int rounds = 300;                   // parts of the problem that are solved again
  std::size_t variables = 30;         // of such a part
  std::uint64_t most_states = 5'000;  // of the search in a part
  /// Of memory at each moment (prices.h), which tell the search what is not worth a try; empty: none.
  std::vector<double> prices = {};
  Stop stop = {};
};

/// A choice that fits and takes no more seconds than this one, which fits: by one variable, by two that are connected, and
/// by parts, where all others keep their values: variables that are connected, or whose memory is there at the same time. The
/// same problem gives the same choice.
Values improved(const Model& model, Values values, const ImproveOptions& options = {});

}  // namespace lemma::choice
