#include "memory_plan/replay.h"

#include <gtest/gtest.h>

namespace lemma::memory_plan {
namespace {

/// 0 is read by 1 and 2, these by 3, which is kept.
Problem diamond() {
  return {{{1, 10, 0, {}, false},
           {2, 4, 1, {0}, false},
           {3, 5, 0, {0}, false},
           {4, 2, 0, {1, 2}, true}}};
}

std::string message_of(const Plan& plan, std::optional<Bytes> limit = std::nullopt) {
  const auto replayed = replay(diamond(), plan, limit);
  return replayed ? "" : replayed.error().message;
}

TEST(Replay, CountsBytesAndSeconds) {
  const Plan plan = {{{0, {}}, {1, {}}, {2, {0}}, {3, {1, 2}}}};
  const auto replayed = replay(diamond(), plan);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(replayed->during, (std::vector<Bytes>{10, 15, 19, 11}));
  EXPECT_EQ(replayed->after, (std::vector<Bytes>{10, 14, 9, 2}));
  EXPECT_EQ(replayed->peak, 19);
  EXPECT_EQ(replayed->seconds, 10);
}

TEST(Replay, CountsRunsOfANode) {
  const Plan plan = {{{0, {}}, {1, {0}}, {0, {}}, {2, {0}}, {3, {1, 2}}}};
  const auto replayed = replay(diamond(), plan);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(replayed->runs, (std::vector<std::uint32_t>{2, 1, 1, 1}));
  EXPECT_EQ(replayed->seconds, 11);
}

TEST(Replay, RefusesAFreedValueThatIsRead) {
  EXPECT_EQ(message_of({{{0, {}}, {1, {0}}, {2, {}}, {3, {}}}}),
            "step 2: node 2 reads node 0, whose value is not there");
}

TEST(Replay, RefusesAMissingRun) {
  EXPECT_EQ(message_of({{{0, {}}, {1, {}}, {3, {}}}}),
            "step 2: node 3 reads node 2, whose value is not there");
}

TEST(Replay, RefusesAValueThatIsThereAlready) {
  EXPECT_EQ(message_of({{{0, {}}, {0, {}}}}), "step 1: the value of node 0 is there already");
}

TEST(Replay, RefusesToFreeWhatIsNotThere) {
  EXPECT_EQ(message_of({{{0, {1}}}}), "step 0: the value of node 1 is freed, but not there");
  EXPECT_EQ(message_of({{{0, {9}}}}), "step 0: the value of node 9 is freed, but not there");
  EXPECT_EQ(message_of({{{9, {}}}}), "step 0: there is no node 9");
}

TEST(Replay, RefusesAKeptValueThatIsGone) {
  EXPECT_EQ(message_of({{{0, {}}, {1, {}}, {2, {0}}, {3, {1, 2, 3}}}}),
            "the value of node 3 is not there at the end");
}

TEST(Replay, RefusesMoreThanTheLimit) {
  const Plan plan = {{{0, {}}, {1, {}}, {2, {0}}, {3, {1, 2}}}};
  EXPECT_EQ(message_of(plan, 19), "");
  EXPECT_EQ(message_of(plan, 18), "step 2: 19 bytes are more than the limit of 18");
  // Workspace counts.
  EXPECT_EQ(message_of(plan, 14), "step 1: 15 bytes are more than the limit of 14");
}

TEST(PlanOf, FreesAfterTheLastUseBeforeTheNextRun) {
  const Plan plan = plan_of(diamond(), {0, 1, 0, 2, 3});
  EXPECT_EQ(plan.steps[1].freed, (std::vector<NodeNumber>{0}));
  EXPECT_EQ(plan.steps[3].freed, (std::vector<NodeNumber>{0}));
  EXPECT_EQ(plan.steps[4].freed, (std::vector<NodeNumber>{1, 2}));
}

TEST(CheckProblem, RefusesOperandsThatComeLaterOrTwice) {
  EXPECT_TRUE(check_problem(diamond()));
  Problem later = diamond();
  later.nodes[1].operands = {2};
  EXPECT_FALSE(check_problem(later));
  Problem twice = diamond();
  twice.nodes[3].operands = {1, 1};
  EXPECT_FALSE(check_problem(twice));
}

}  // namespace
}  // namespace lemma::memory_plan
