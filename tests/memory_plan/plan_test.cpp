#include <cmath>

#include <gtest/gtest.h>

#include "memory_plan/bound.h"
#include "memory_plan/evict.h"
#include "memory_plan/exact.h"
#include "memory_plan/order.h"
#include "memory_plan/plan_within.h"
#include "memory_plan/replay.h"
#include "tests/memory_plan/random_problem.h"

namespace lemma::memory_plan {
namespace {

constexpr std::uint64_t many_states = 10'000'000;

/// Limits from the least that a node needs to what the given order takes.
std::vector<Bytes> limits_of(const Problem& problem) {
  const Bytes least = largest_working_set(problem);
  const Bytes most = replay(problem, plan_of(problem, given_order(problem)))->peak;
  std::vector<Bytes> limits;
  for (Bytes limit = least == 0 ? 0 : least - 1; limit <= most; limit += 1 + (most - least) / 6)
    limits.push_back(limit);
  return limits;
}

Sequence first_runs(const Problem& problem, const Sequence& sequence) {
  std::vector<bool> has_run(problem.nodes.size(), false);
  Sequence order;
  for (const NodeNumber number : sequence) {
    if (!has_run[number]) order.push_back(number);
    has_run[number] = true;
  }
  return order;
}

void expect_exact(const Problem& problem) {
  for (const Bytes limit : limits_of(problem)) {
    const double all = least_seconds_of_all(problem, limit);
    const ExactOutcome exact = exact_plan(problem, limit, many_states);
    if (std::isinf(all)) {
      EXPECT_EQ(exact.answer, Answer::impossible);
      EXPECT_FALSE(plan_within(problem, limit).is_found());
      continue;
    }
    ASSERT_EQ(exact.answer, Answer::optimal);
    const auto replayed = replay(problem, plan_of(problem, exact.sequence), limit);
    ASSERT_TRUE(replayed) << replayed.error().message;
    EXPECT_DOUBLE_EQ(replayed->seconds, all);
    // Bounds hold for the best plan.
    const Sequence order = first_runs(problem, exact.sequence);
    EXPECT_LE(priced_bound(problem, order, limit).seconds, all + 1e-9);
    const Outcome outcome = plan_within(problem, limit);
    ASSERT_TRUE(outcome.is_found());
    EXPECT_DOUBLE_EQ(outcome.seconds, all);
    EXPECT_TRUE(outcome.is_optimal());
  }
}

TEST(Exact, EqualsAllPlansOfRandomProblems) {
  std::mt19937 random(1);
  for (int i = 0; i < 150; ++i) expect_exact(random_problem(random, 3 + i % 8));
}

TEST(Exact, EqualsAllPlansOfTwelveNodes) {
  std::mt19937 random(2);
  for (int i = 0; i < 8; ++i) expect_exact(random_problem(random, 12));
  for (int i = 0; i < 8; ++i) expect_exact(training_problem(random, 6));
}

TEST(Exact, RunsWhatIsSmallerAgain) {
  // Value 1 is large and made of 0, which is small; both are read at the beginning and at the end.
  Problem problem;
  problem.nodes = {{1, 1, 0, {}, false},  {1, 8, 0, {0}, false}, {1, 1, 0, {1}, false},
                   {1, 9, 0, {2}, false}, {1, 1, 0, {3}, false}, {1, 1, 0, {1, 4}, true}};
  const ExactOutcome exact = exact_plan(problem, 12, many_states);
  ASSERT_EQ(exact.answer, Answer::optimal);
  EXPECT_EQ(exact.sequence, (Sequence{0, 1, 2, 3, 4, 1, 5}));
}

TEST(Order, NeedsTheLeastMemoryOfAllOrders) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const Problem problem = random_problem(random, 3 + i % 9);
    const OrderOutcome outcome = low_memory_order(problem);
    EXPECT_EQ(outcome.peak, least_bytes_of_all_orders(problem));
    EXPECT_TRUE(outcome.is_optimal() || outcome.bound <= outcome.peak);
    EXPECT_EQ(replay(problem, plan_of(problem, outcome.order))->peak, outcome.peak);
  }
}

TEST(Order, BeamsOfLargeProblemsAreOrders) {
  std::mt19937 random(4);
  const Problem problem = random_problem(random, 300);
  const OrderOutcome outcome = low_memory_order(problem);
  const auto replayed = replay(problem, plan_of(problem, outcome.order));
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(outcome.order.size(), given_order(problem).size());
  EXPECT_GE(outcome.peak, outcome.bound);
  EXPECT_LE(outcome.peak, replay(problem, plan_of(problem, given_order(problem)))->peak);
}

TEST(Bound, NoPricesGiveMoreThanTheBestPlan) {
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    const Problem problem = random_problem(random, 9);
    for (const Bytes limit : limits_of(problem)) {
      const ExactOutcome exact = exact_plan(problem, limit, many_states);
      if (exact.answer != Answer::optimal) continue;
      const Sequence order = first_runs(problem, exact.sequence);
      const double seconds = replay(problem, plan_of(problem, exact.sequence))->seconds;
      std::vector<double> prices;
      for (std::size_t place = 0; place < order.size(); ++place)
        prices.push_back(static_cast<double>(random() % 100) / 40);
      EXPECT_LE(bound_from_prices(problem, order, limit, prices), seconds + 1e-9);
      const PricedBound priced = priced_bound(problem, order, limit);
      EXPECT_DOUBLE_EQ(bound_from_prices(problem, order, limit, priced.prices), priced.seconds);
    }
  }
}

TEST(Bound, IsReachedWhereOneValueHasToGo) {
  // Two values of 4 bytes wait while a node of 9 bytes runs; there is room for one of them.
  Problem problem;
  problem.nodes = {{3, 4, 0, {}, false},  {2, 4, 0, {}, false},  {1, 1, 0, {0, 1}, false},
                   {1, 9, 0, {2}, false}, {1, 1, 0, {3}, false}, {1, 1, 0, {0, 1, 4}, true}};
  const PricedBound priced = priced_bound(problem, given_order(problem), 14);
  EXPECT_NEAR(priced.seconds, 9 + 2, 1e-3);
}

TEST(Eviction, PlansFitAndAreNotBetterThanTheBest) {
  std::mt19937 random(6);
  int plans = 0;
  for (int i = 0; i < 200; ++i) {
    const Problem problem = i % 2 == 0 ? random_problem(random, 10) : training_problem(random, 5);
    for (const Bytes limit : limits_of(problem)) {
      const auto sequence = sequence_by_eviction(problem, given_order(problem), limit, {});
      if (!sequence) continue;
      ++plans;
      const auto replayed = replay(problem, plan_of(problem, *sequence), limit);
      ASSERT_TRUE(replayed) << replayed.error().message;
      const Sequence shorter = without_needless_runs(problem, *sequence, limit);
      const auto of_shorter = replay(problem, plan_of(problem, shorter), limit);
      ASSERT_TRUE(of_shorter) << of_shorter.error().message;
      EXPECT_LE(of_shorter->seconds, replayed->seconds);
      EXPECT_GE(of_shorter->seconds, least_seconds_of_all(problem, limit) - 1e-9);
    }
  }
  EXPECT_GT(plans, 300);
}

TEST(PlanWithin, LargeProblemsHaveAPlanAndABound) {
  std::mt19937 random(7);
  const Problem problem = training_problem(random, 200);
  const Bytes most = replay(problem, plan_of(problem, given_order(problem)))->peak;
  PlanOptions options;
  options.rounds = 10;
  for (const Bytes part : {90, 60, 40, 20}) {
    const Bytes limit = most * part / 100;
    const Outcome outcome = plan_within(problem, limit, options);
    ASSERT_TRUE(outcome.is_found());
    EXPECT_LE(outcome.peak, limit);
    EXPECT_LE(outcome.seconds_bound, outcome.seconds);
    EXPECT_GT(outcome.seconds, least_seconds(problem));
    const Outcome again = plan_within(problem, limit, options);
    EXPECT_EQ(again.sequence, outcome.sequence);
  }
}

TEST(PlanWithin, TheLeastLimitHasAPlan) {
  std::mt19937 random(8);
  for (int i = 0; i < 20; ++i) {
    const Problem problem = training_problem(random, 6);
    const Bytes least = least_limit(problem);
    EXPECT_TRUE(plan_within(problem, least).is_found());
    EXPECT_TRUE(std::isinf(least_seconds_of_all(problem, least - 1)));
  }
}

}  // namespace
}  // namespace lemma::memory_plan
