#pragma once
// The search of FlexFlow (Jia et al., MLSys 2019, section 6), for comparison: random changes of one node, which are kept if they
// make things better, and otherwise the less likely the worse they are.

#include <chrono>
#include <cstdint>
#include <optional>

#include "plans/choice/problem.h"

namespace lemma::choice {

struct MetropolisOptions {
  std::uint64_t seed = 0;
  std::uint64_t proposals = 100'000;
  /// Proposals end as well when these seconds have passed; then the outcome depends on the machine. None: they do not.
  std::optional<double> seconds = std::nullopt;
  /// A change that takes d seconds more is kept with the probability exp(-steepness * d / what the start takes).
  double steepness = 100;
};

struct MetropolisOutcome {
  Choice choice;  // the best that was met
  double seconds = 0;
  std::uint64_t proposals = 0;  // that were tried
};

/// From a choice that is allowed. Each hundredth of the proposals begins at the best choice so far, as in FlexFlow's code. A
/// change after which the memory does not suffice is not kept. The same problem, start and seed give the same outcome.
MetropolisOutcome metropolis(const Problem& problem, const Choice& start,
                             const MetropolisOptions& options = {});

}  // namespace lemma::choice
