// The search of FlexFlow: it finds the best of small problems, keeps within the memory, and is the same every time.

#include <gtest/gtest.h>

#include "plans/choice/choose.h"
#include "plans/choice/metropolis.h"
#include "tests/plans/choice/random_problem.h"

namespace lemma::choice {
namespace {

/// The first choice that is allowed.
Choice some_choice(const Problem& problem) {
  Problem flat = problem;
  for (Node& node : flat.nodes)
    for (Strategy& strategy : node.strategies) strategy.seconds = 1;
  for (Edge& edge : flat.edges)
    for (double& seconds : edge.seconds) seconds = std::isfinite(seconds) ? 1 : seconds;
  return choose(flat).choice;
}

TEST(Metropolis, IsAllowedAndNeverBetterThanTheBest) {
  std::size_t compared = 0, reached = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    const Problem problem = random_problem(random, {.nodes = 8 + seed % 20,
                                                    .has_alike = seed % 3 == 0,
                                                    .has_moments = seed % 2 == 0,
                                                    .limit_part = seed % 4 == 0 ? 0.5 : -1});
    const Outcome best = choose(problem);
    if (!best.is_found() || !best.is_optimal()) continue;
    const Choice start = some_choice(problem);
    if (start.empty() || !(seconds_of(problem, start) > 0)) continue;
    const MetropolisOutcome found = metropolis(problem, start, {.seed = seed, .proposals = 20'000});
    EXPECT_TRUE(is_allowed(problem, found.choice)) << seed;
    EXPECT_NEAR(found.seconds, seconds_of(problem, found.choice), 1e-9 * found.seconds) << seed;
    EXPECT_LE(found.seconds, seconds_of(problem, start) * (1 + 1e-12)) << seed;
    EXPECT_GE(found.seconds, best.seconds * (1 - 1e-9)) << seed;
    ++compared;
    reached += found.seconds <= best.seconds * (1 + 1e-9) ? 1 : 0;
    const MetropolisOutcome again = metropolis(problem, start, {.seed = seed, .proposals = 20'000});
    EXPECT_EQ(again.choice, found.choice) << seed;
  }
  EXPECT_GT(compared, 20U);
  EXPECT_GT(reached, compared / 2);
}

}  // namespace
}  // namespace lemma::choice
