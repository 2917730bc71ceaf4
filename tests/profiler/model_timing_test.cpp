#include "profiler/model_timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace lemma {
namespace {

TEST(ModelTiming, MedianAndQuartiles) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(quartile_deviation({1, 2, 3, 4, 5}), 1);
}

TEST(ModelTiming, FewRoundsGiveNoBound) {
  const std::vector<double> before(5, 1.0), after(5, 0.5);
  EXPECT_EQ(time_ratio(before, after).median, 0.5);
  EXPECT_EQ(time_ratio(before, after).upper_bound, std::numeric_limits<double>::max());
  EXPECT_EQ(time_ratio({}, {}).upper_bound, std::numeric_limits<double>::max());
}

TEST(ModelTiming, TheBoundIsAnOrderStatistic) {
  std::vector<double> before(40, 1.0), after;
  for (int i = 1; i <= 40; ++i) after.push_back(i);
  // Of 40 values, P(B(40, 1/2) < 14) = 1.9% and P(B < 15) = 4.0%: the 27th is the bound.
  EXPECT_EQ(time_ratio(before, after).upper_bound, 27);
  EXPECT_EQ(time_ratio(before, after).median, 20.5);
}

TEST(ModelTiming, TheBoundIsSeldomBelowTheTrueRatio) {
  // Of a distribution with a long tail, whose median is 1.
  std::mt19937 random(1);
  std::lognormal_distribution<double> noise(0, 0.3);
  int wrong = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> before, after;
    for (int round = 0; round < 40; ++round) {
      before.push_back(noise(random));
      after.push_back(noise(random));
    }
    wrong += time_ratio(before, after).upper_bound < 1 ? 1 : 0;
  }
  EXPECT_LE(wrong, 70);  // 2.5% are 50
}

}  // namespace
}  // namespace lemma
