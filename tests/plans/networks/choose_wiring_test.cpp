#include "plans/networks/choose_wiring.h"

#include <limits>

#include <gtest/gtest.h>

#include "plans/networks/exact.h"

namespace lemma::networks {
namespace {

using clusters::Collective;

constexpr LinkSpeed link{1e-6, 1e9};

Demands demands_of(const MeshSizes& sizes, std::vector<Demand> demands) {
  return {sizes, std::move(demands)};
}

/// Small cases with several kinds of demands.
std::vector<Demands> small_cases() {
  return {
      demands_of({4}, {{Collective::all_reduce, 0, 1e6}}),
      demands_of({5}, {{Collective::all_reduce, 0, 1e6}, {Collective::all_to_all, 0, 4e6}}),
      demands_of({5}, {{Collective::all_to_all, 0, 1e6}}),
      demands_of({6}, {{Collective::all_reduce, 0, 1e6}, {Collective::all_gather, 0, 1e5}}),
      demands_of({2, 3}, {{Collective::all_reduce, 0, 3e6}, {Collective::all_to_all, 1, 2e6}}),
      demands_of({3, 2}, {{Collective::all_gather, 1, 1e5}, {Collective::reduce_scatter, 0, 2e6}}),
      demands_of({2, 2}, {{Collective::broadcast, 0, 1e6}, {Collective::permute, 1, 1e6}}),
  };
}

TEST(GeometricStrides, HaveNoDivisorInCommonWithTheGroup) {
  EXPECT_EQ(geometric_strides(16, 1), (std::vector<std::size_t>{1}));
  EXPECT_EQ(geometric_strides(16, 4), (std::vector<std::size_t>{1, 3, 5, 7}));
  EXPECT_EQ(geometric_strides(12, 2), (std::vector<std::size_t>{1, 5}));
  // One link to the only other one, twice.
  EXPECT_EQ(geometric_strides(2, 2), (std::vector<std::size_t>{1, 1}));
}

TEST(Exact, PricesAllWirings) {
  const Demands demands = demands_of({4}, {{Collective::all_to_all, 0, 1e6}});
  // Matrices with an empty diagonal and sums of 1: the permutations without fixed points.
  EXPECT_EQ(best_of_all_wirings(demands, 1, link)->wirings, 9U);
  EXPECT_EQ(best_of_all_wirings(demands_of({6}, {}), 2, link)->wirings, 27'990U);
  EXPECT_EQ(best_of_all_wirings(demands, 2, link, 20), std::nullopt);
}

TEST(ChooseWiring, IsRightAndNeverBelowTheBestOfAll) {
  double worst = 1;
  for (const Demands& demands : small_cases())
    for (const std::size_t degree : {1U, 2U}) {
      const ChosenWiring chosen = choose_wiring(demands, degree, link);
      EXPECT_EQ(fault_of(chosen.wiring), std::nullopt);
      EXPECT_NEAR(chosen.seconds, seconds_on(demands, chosen.wiring, link), 1e-15);
      const auto best = best_of_all_wirings(demands, degree, link);
      ASSERT_TRUE(best);
      EXPECT_EQ(fault_of(best->wiring), std::nullopt);
      EXPECT_GE(chosen.seconds, best->seconds * (1 - 1e-12));
      EXPECT_GE(best->seconds, least_seconds(demands, degree, link) * (1 - 1e-12));
      worst = std::max(worst, chosen.seconds / best->seconds);
    }
  // It finds the best one in all of these cases, up to a microsecond.
  EXPECT_LE(worst, 1.001);
}

TEST(ChooseWiring, FourPortsOfAnAllReduceAreFourRings) {
  const Demands demands = demands_of({16}, {{Collective::all_reduce, 0, 1e9}});
  const ChosenWiring chosen = choose_wiring(demands, 4, link, {0, 100});
  EXPECT_LE(chosen.seconds, least_seconds(demands, 4, link) + 31e-6);
}

TEST(ChooseWiring, EqualSeedsGiveEqualWirings) {
  const Demands demands =
      demands_of({4, 4}, {{Collective::all_to_all, 0, 1e6}, {Collective::all_reduce, 1, 1e6}});
  const ChosenWiring one = choose_wiring(demands, 3, link, {5, 300});
  const ChosenWiring other = choose_wiring(demands, 3, link, {5, 300});
  EXPECT_EQ(one.wiring, other.wiring);
  EXPECT_EQ(one.seconds, other.seconds);
}

TEST(ChooseWiring, AWrongWiringTakesForever) {
  const Demands demands = demands_of({4}, {{Collective::all_reduce, 0, 1e6}});
  Wiring much = choose_wiring(demands, 2, link, {0, 0}).wiring;
  much.add(0, 1);
  EXPECT_EQ(seconds_on(demands, much, link), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace lemma::networks
