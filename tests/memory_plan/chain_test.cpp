#include "memory_plan/chain.h"

#include <gtest/gtest.h>

#include "memory_plan/replay.h"
#include "tests/memory_plan/random_problem.h"

namespace lemma::memory_plan {
namespace {

/// The binomial coefficient.
std::uint64_t choose(std::uint64_t n, std::uint64_t k) {
  std::uint64_t result = 1;
  for (std::uint64_t i = 1; i <= k; ++i) result = result * (n - k + i) / i;
  return result;
}

/// Griewank and Walther's formula: r l - C(s + r, s + 1) with the least r for which C(s + r, s) is at least l.
std::uint64_t revolve_optimum(std::uint64_t length, std::uint64_t slots) {
  std::uint64_t r = 0;
  while (choose(slots + r, slots) < length) ++r;
  return r * length - choose(slots + r, slots + 1);
}

TEST(Chain, HasRevolvesOptimumForAllLengthsAndSlots) {
  for (std::uint32_t length = 1; length < 60; ++length)
    for (std::uint32_t slots = 1; slots < 8; ++slots) {
      const Chain chain = {std::vector<double>(length, 1.0), {}};
      const auto plan = chain_plan(chain, slots);
      ASSERT_TRUE(plan);
      EXPECT_EQ(plan->seconds, static_cast<double>(revolve_optimum(length, slots)))
          << length << " " << slots;
      const auto replayed = replay(chain, *plan, slots);
      ASSERT_TRUE(replayed) << replayed.error().message;
      EXPECT_EQ(replayed->seconds, plan->seconds);
    }
}

TEST(Chain, HasThePublishedNumbers) {
  const auto seconds = [](std::size_t length, std::uint32_t slots) {
    return chain_plan({std::vector<double>(length, 1.0), {}}, slots)->seconds;
  };
  EXPECT_EQ(seconds(10, 3), 15);
  EXPECT_EQ(seconds(16, 4), 27);
  EXPECT_EQ(seconds(32, 4), 75);
  EXPECT_EQ(seconds(50, 5), 122);
}

TEST(Chain, PlansOfUnequalStepsAreReplayed) {
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    Chain chain;
    for (std::size_t step = 0; step < 3 + random() % 12; ++step) {
      chain.seconds.push_back(static_cast<double>(1 + random() % 9));
      chain.slots.push_back(1 + random() % 4);
    }
    double last = std::numeric_limits<double>::infinity();
    for (std::uint32_t slots = chain.slots.front(); slots < 20; ++slots) {
      const auto plan = chain_plan(chain, slots);
      ASSERT_TRUE(plan);
      const auto replayed = replay(chain, *plan, slots);
      ASSERT_TRUE(replayed) << replayed.error().message;
      EXPECT_EQ(replayed->seconds, plan->seconds);
      EXPECT_LE(plan->seconds, last);
      last = plan->seconds;
    }
  }
}

TEST(Chain, WrongPlansAreRefused) {
  using Kind = ChainAction::Kind;
  const Chain chain = {{1, 1}, {}};
  const auto accepts = [&](std::vector<ChainAction> actions) {
    return replay(chain, {0, std::move(actions)}, 1).has_value();
  };
  EXPECT_TRUE(
      accepts({{Kind::advance, 0}, {Kind::reverse, 1}, {Kind::restore, 0}, {Kind::reverse, 0}}));
  EXPECT_FALSE(accepts({{Kind::advance, 0}, {Kind::reverse, 1}, {Kind::reverse, 0}}));
  EXPECT_FALSE(accepts({{Kind::reverse, 0}}));
  EXPECT_FALSE(accepts({{Kind::advance, 0}, {Kind::reverse, 1}}));
  EXPECT_FALSE(accepts({{Kind::advance, 0},
                        {Kind::store, 1},
                        {Kind::reverse, 1},
                        {Kind::restore, 0},
                        {Kind::reverse, 0}}));
  EXPECT_FALSE(accepts({{Kind::advance, 1}}));
}

TEST(ChainSequence, FitsAndIsReplayed) {
  std::mt19937 random(2);
  int plans = 0;
  for (int i = 0; i < 30; ++i) {
    const Problem problem = training_problem(random, 12);
    const Sequence order = given_order(problem);
    const Bytes most = replay(problem, plan_of(problem, order))->peak;
    for (const Bytes part : {90, 70, 50}) {
      const Bytes limit = most * part / 100;
      const auto sequence = chain_sequence(problem, order, limit);
      if (!sequence) continue;
      ++plans;
      const auto replayed = replay(problem, plan_of(problem, *sequence), limit);
      ASSERT_TRUE(replayed) << replayed.error().message;
    }
  }
  EXPECT_GT(plans, 60);
  EXPECT_FALSE(chain_sequence(random_problem(random, 12), {}, 100));
}

}  // namespace
}  // namespace lemma::memory_plan
