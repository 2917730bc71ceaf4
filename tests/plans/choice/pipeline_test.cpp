#include "plans/choice/pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "plans/choice/zero.h"

namespace lemma::choice {
namespace {

PipelineProblem random_pipeline(std::mt19937& random) {
  PipelineProblem problem;
  const std::size_t layers = 1 + random() % 8;
  for (std::size_t layer = 0; layer < layers; ++layer)
    problem.layers.push_back({static_cast<double>(1 + random() % 9),
                              static_cast<double>(random() % 4), random() % 10, random() % 5});
  problem.most_stages = 1 + random() % 5;
  problem.microbatches = 1 + random() % 6;
  problem.schedule = random() % 2 == 0 ? Schedule::all_forward_first : Schedule::backward_first;
  if (random() % 3 > 0) problem.limit = 8 + random() % 50;
  return problem;
}

TEST(Pipeline, EqualsAllCutsOfRandomChains) {
  std::mt19937 random(1);
  int without = 0, with_several = 0;
  for (int number = 0; number < 400; ++number) {
    const PipelineProblem problem = random_pipeline(random);
    double least = std::numeric_limits<double>::infinity();
    const std::size_t places = problem.layers.size() - 1;
    for (std::size_t set = 0; set < std::size_t{1} << places; ++set) {
      Cut cut = {0};
      for (std::size_t place = 0; place < places; ++place)
        if ((set >> place & 1U) != 0) cut.push_back(place + 1);
      if (cut.size() > problem.most_stages) continue;
      if (problem.limit && pipeline_peak(problem, cut) > *problem.limit) continue;
      least = std::min(least, pipeline_seconds(problem, cut));
    }
    const PipelineOutcome outcome = best_pipeline(problem);
    EXPECT_EQ(outcome.cut.empty(), std::isinf(least));
    without += outcome.cut.empty() ? 1 : 0;
    with_several += outcome.cut.size() > 1 ? 1 : 0;
    if (outcome.cut.empty()) continue;
    EXPECT_DOUBLE_EQ(outcome.seconds, least);
    EXPECT_DOUBLE_EQ(pipeline_seconds(problem, outcome.cut), least);
    EXPECT_EQ(outcome.peak, pipeline_peak(problem, outcome.cut));
  }
  EXPECT_GT(without, 20);
  EXPECT_GT(with_several, 50);
}

/// When the last of all passes ends, where passes start as soon as the stage is free and what they read is there; and how
/// many microbatches each stage keeps at most. A forward pass takes 1, a backward pass 2.
struct Timeline {
  double seconds = 0, busy = 0;
  std::vector<std::size_t> kept;
};
Timeline run(std::size_t stages, std::size_t microbatches, Schedule schedule) {
  // The order of passes of each stage: forward passes are positive, backward passes negative.
  std::vector<std::vector<int>> order(stages);
  const auto count = static_cast<int>(microbatches);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const int ahead = schedule == Schedule::all_forward_first
                          ? count
                          : std::min(count, static_cast<int>(stages - stage));
    for (int pass = 1; pass <= ahead; ++pass) order[stage].push_back(pass);
    for (int pass = 1; pass <= count; ++pass) {
      order[stage].push_back(-pass);
      if (ahead + pass <= count) order[stage].push_back(ahead + pass);
    }
  }
  std::map<std::pair<std::size_t, int>, double> ends;
  std::vector<double> free(stages, 0);
  std::vector<std::size_t> next(stages, 0);
  Timeline result;
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (std::size_t stage = 0; stage < stages; ++stage) {
      if (next[stage] == order[stage].size()) continue;
      const int pass = order[stage][next[stage]];
      double start = free[stage];
      const bool is_first = pass > 0 ? stage == 0 : stage + 1 == stages;
      const auto needed = ends.find({pass > 0 ? stage - 1 : stage + 1, pass});
      if (!is_first && needed == ends.end()) continue;
      if (!is_first) start = std::max(start, needed->second);
      free[stage] = start + (pass > 0 ? 1 : 2);
      ends[{stage, pass}] = free[stage];
      result.seconds = std::max(result.seconds, free[stage]);
      ++next[stage];
      is_changed = true;
    }
  }
  for (std::size_t stage = 0; stage < stages; ++stage) {
    EXPECT_EQ(next[stage], order[stage].size()) << "stages wait for each other";
    std::size_t kept = 0, most = 0;
    for (const int pass : order[stage]) {
      kept = pass > 0 ? kept + 1 : kept - 1;
      most = std::max(most, kept);
    }
    result.kept.push_back(most);
  }
  result.busy = 3 * static_cast<double>(microbatches);
  return result;
}

TEST(Pipeline, TimeBubbleAndMemoryAreThoseOfSchedulesThatAreRun) {
  for (const Schedule schedule : {Schedule::all_forward_first, Schedule::backward_first})
    for (std::size_t stages = 1; stages <= 5; ++stages)
      for (std::size_t microbatches = 1; microbatches <= 8; ++microbatches) {
        const Timeline done = run(stages, microbatches, schedule);
        PipelineProblem problem;
        problem.layers.assign(stages, {3, 0, 100, 1});
        problem.microbatches = microbatches;
        problem.schedule = schedule;
        Cut cut;
        for (std::size_t stage = 0; stage < stages; ++stage) cut.push_back(stage);
        EXPECT_DOUBLE_EQ(pipeline_seconds(problem, cut), done.seconds);
        EXPECT_NEAR(bubble_fraction(stages, microbatches), 1 - done.busy / done.seconds, 1e-12);
        EXPECT_EQ(pipeline_peak(problem, cut),
                  100 + *std::max_element(done.kept.begin(), done.kept.end()));
      }
}

TEST(Zero, SizesAndTrafficAreThePublishedOnes) {
  const TrainingState state{7.5e9};
  EXPECT_NEAR(zero_bytes(state, 0, 64) / 1e9, 120, 0.05);
  EXPECT_NEAR(zero_bytes(state, 1, 64) / 1e9, 31.4, 0.05);
  EXPECT_NEAR(zero_bytes(state, 2, 64) / 1e9, 16.6, 0.05);
  EXPECT_NEAR(zero_bytes(state, 3, 64) / 1e9, 1.9, 0.05);
  // A second for each byte that a device sends: 2, 2, 2 and 3 times the weights, without the device's own part.
  const CollectivePrice bytes = [](clusters::Collective collective, double size, std::size_t) {
    return clusters::cost_of(collective, clusters::Algorithm::ring, size, 64)->path_bytes;
  };
  const double once = 7.5e9 * 2 * 63 / 64;
  for (int stage = 0; stage < zero_stages; ++stage)
    EXPECT_NEAR(zero_seconds(state, stage, 0, bytes), once * (stage == 3 ? 3 : 2), 1e-3);
  const std::vector<Strategy> strategies = zero_strategies(state, 0, {64}, bytes);
  ASSERT_EQ(strategies.size(), 4U);
  EXPECT_EQ(strategies[3].bytes, 1'875'000'000U);
}

}  // namespace
}  // namespace lemma::choice
