// Each algorithm on 2 to 17 nodes: its schedule is right, and what is counted in it is what the closed forms say.

#include "plans/collectives/patterns.h"

#include <bit>
#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include "plans/collectives/checker.h"

namespace lemma::collectives {
namespace {

using clusters::algorithm_count;
using clusters::cost_of;

constexpr Collective planned[] = {Collective::all_gather, Collective::reduce_scatter,
                                  Collective::all_reduce, Collective::broadcast};

Topology full(std::size_t nodes) { return named_topology("full:" + std::to_string(nodes)).value(); }

std::string text(Collective collective, Algorithm algorithm, std::size_t nodes) {
  return std::string(name(collective)) + " by " + std::string(name(algorithm)) + " of " +
         std::to_string(nodes);
}

/// What docs/plans.md says where a schedule has less than the closed form: no node gets what it has, and where the number of nodes
/// is no power of 2, halving is Bruck's algorithm backwards.
struct Expected {
  double steps, path, total;  // of a tensor of p bytes
};
Expected expected_of(Collective collective, Algorithm algorithm, std::size_t nodes) {
  const auto p = static_cast<double>(nodes);
  const auto cost = cost_of(collective, algorithm, p, nodes).value();
  const double depth = std::bit_width(nodes - 1);
  Expected expected{static_cast<double>(cost.steps), cost.path_bytes, cost.total_bytes};
  if (collective == Collective::all_gather || collective == Collective::reduce_scatter)
    expected.total = p * (p - 1);
  if (collective == Collective::broadcast) expected.total = p * (p - 1);
  if (collective == Collective::reduce_scatter && algorithm == Algorithm::parameter_server)
    expected.path = p * (p - 1);
  const bool halves = algorithm == Algorithm::halving_doubling && !std::has_single_bit(nodes);
  if (halves && collective == Collective::reduce_scatter) expected = {depth, p - 1, p * (p - 1)};
  if (halves && collective == Collective::all_reduce)
    expected = {2 * depth, 2 * (p - 1), 2 * p * (p - 1)};
  return expected;
}

TEST(Patterns, AreRightAndHaveTheirClosedForms) {
  int schedules = 0;
  for (std::size_t nodes = 2; nodes <= 17; ++nodes)
    for (const Collective collective : planned)
      for (int number = 0; number < algorithm_count; ++number) {
        const auto algorithm = static_cast<Algorithm>(number);
        SCOPED_TRACE(text(collective, algorithm, nodes));
        const auto schedule = pattern(collective, algorithm, nodes);
        EXPECT_EQ(schedule.has_value(), cost_of(collective, algorithm, 1, nodes).has_value());
        if (!schedule) continue;
        ++schedules;
        const auto fits = fitted(*schedule, full(nodes));
        ASSERT_TRUE(fits) << fits.error().message;
        EXPECT_EQ(fault_of(full(nodes), *fits), std::nullopt);
        const Counts counts = counts_of(*fits);
        const double bytes = static_cast<double>(nodes) / schedule->chunks;  // of a chunk
        const Expected expected = expected_of(collective, algorithm, nodes);
        EXPECT_EQ(static_cast<double>(counts.steps), expected.steps);
        EXPECT_NEAR(static_cast<double>(counts.total) * bytes, expected.total, 1e-9);
        // A tree that gathers sends down all but what came up, so that its path is shorter than the closed form's.
        const bool is_tree_of_parts =
            algorithm == Algorithm::tree &&
            (collective == Collective::all_gather || collective == Collective::reduce_scatter);
        if (is_tree_of_parts)
          EXPECT_LE(static_cast<double>(counts.path) * bytes, expected.path + 1e-9);
        else
          EXPECT_NEAR(static_cast<double>(counts.path) * bytes, expected.path, 1e-9);
      }
  EXPECT_EQ(schedules, 16 * 21);
}

TEST(Patterns, ARingSendsTwiceTheTensorButAPart) {
  for (std::size_t nodes = 2; nodes <= 17; ++nodes) {
    const Counts counts = counts_of(*pattern(Collective::all_reduce, Algorithm::ring, nodes));
    EXPECT_EQ(counts.steps, 2 * (nodes - 1));
    EXPECT_EQ(counts.most, 2 * (nodes - 1));  // of `nodes` chunks: 2 (N-1)/N of the tensor
    EXPECT_EQ(counts.total, 2 * nodes * (nodes - 1));
  }
}

TEST(Patterns, GroupsAreRightAndSendNoMoreThanARing) {
  for (std::size_t group = 1; group <= 6; ++group)
    for (std::size_t groups = 1; groups <= 6; ++groups) {
      const std::size_t nodes = group * groups;
      if (nodes < 2) continue;
      for (const Collective collective : planned) {
        SCOPED_TRACE(std::string(name(collective)) + " of " + std::to_string(groups) + " x " +
                     std::to_string(group));
        const auto schedule = fitted(hierarchical(collective, nodes, group), full(nodes)).value();
        EXPECT_EQ(fault_of(full(nodes), schedule), std::nullopt);
        const Counts counts = counts_of(schedule);
        const std::size_t steps = group - 1 + groups - 1;
        if (collective == Collective::broadcast) {
          EXPECT_EQ(counts.steps, std::bit_width(group - 1) + std::bit_width(groups - 1));
          EXPECT_EQ(counts.total, nodes - 1);
        } else if (collective == Collective::all_reduce) {
          EXPECT_EQ(counts.steps, 2 * steps);
          EXPECT_EQ(counts.most, 2 * (nodes - 1));
        } else {
          EXPECT_EQ(counts.steps, steps);
          EXPECT_EQ(counts.most, nodes - 1);
        }
      }
    }
}

TEST(Patterns, RootsAndOrdersAreOthers) {
  const std::vector<Node> order = {0, 1, 3, 2, 6, 7, 5, 4};
  const Topology cube = named_topology("hypercube:3").value();
  for (const Collective collective : planned)
    for (Node root = 0; root < 8; ++root) {
      const auto ring = *pattern(collective, Algorithm::ring, 8, root);
      EXPECT_EQ(fault_of(full(8), ring), std::nullopt);
      // Neighbours in this order are neighbours in the cube: Gray's code.
      const auto fits = fitted(renamed(ring, order), cube);
      ASSERT_TRUE(fits) << fits.error().message;
      EXPECT_EQ(fault_of(cube, *fits), std::nullopt);
    }
  EXPECT_EQ(
      fitted(*pattern(Collective::all_gather, Algorithm::ring, 8), cube).error().message,
      "'hypercube:3' has no link from 1 to 2, over which all-gather by 'ring' sends in step 1; "
      "another algorithm, another order of the nodes, or a schedule that is searched for is "
      "needed");
}

TEST(Patterns, TheButterflyTakesLinksOfTheCube) {
  const Topology cube = named_topology("hypercube:4").value();
  for (const Collective collective : planned) {
    const auto algorithm = collective == Collective::all_gather ? Algorithm::recursive_doubling
                                                                : Algorithm::halving_doubling;
    const auto fits = fitted(*pattern(collective, algorithm, 16), cube);
    ASSERT_TRUE(fits) << fits.error().message;
    EXPECT_EQ(fault_of(cube, *fits), std::nullopt);
    EXPECT_EQ(
        counts_of(*fits).rounds,
        collective == Collective::all_reduce || collective == Collective::broadcast ? 30U : 15U);
  }
}

}  // namespace
}  // namespace lemma::collectives
