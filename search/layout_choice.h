#pragma once
// Which of the graphs that a search found is the best with the moves between layouts that a runtime makes for it.

#include <functional>
#include <optional>
#include <vector>

#include "search/blocked_layout.h"
#include "search/candidate.h"

namespace lemma {

/// What a graph costs with moves between layouts. Where there is no time to find that out, none is preferred.
using LayoutPrice = std::function<Result<std::optional<double>>(const Graph&)>;

/// The candidate that costs least with moves between layouts.
struct LaidOutCandidate {
  std::optional<Candidate> candidate;
  std::optional<double> bound;  // what the next one has to cost less than
};

/// Whether a round has found a graph that costs less than all before it, and less than the original.
Result<bool> improves(LaidOutCandidate& known, const Round& round, const Graph& original,
                      const LayoutPrice& price);

/// Adds it to the candidates if it costs less than each of them.
Result<void> join(LaidOutCandidate known, std::vector<Candidate>& candidates,
                  const LayoutPrice& price);

/// Makes `best` the cheapest of the original, itself and what is known. True: the last one.
Result<bool> choose_laid_out(LaidOutCandidate known, const Candidate& original, Candidate& best,
                             const LayoutPrice& price);

}  // namespace lemma
