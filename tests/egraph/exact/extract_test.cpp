#include "egraph/exact/extract.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "egraph/exact/reducer.h"
#include "egraph/exact/validate.h"

namespace lemma::exact {
namespace {

Extraction extracted(const Problem& problem) {
  auto result = extract(problem);
  EXPECT_TRUE(result.has_value());
  if (!result) return {};
  const auto valid = validate(problem, result->selection);
  EXPECT_TRUE(valid.has_value()) << valid.error().message;
  EXPECT_TRUE(result->optimal);
  return std::move(*result);
}

TEST(Extract, SharedClassesCountOnce) {
  const Problem problem{
      4, {{0, 0, {1, 2}}, {1, 6, {}}, {1, 1, {3}}, {2, 6, {}}, {2, 1, {3}}, {3, 9, {}}}, {0}};
  const auto result = extracted(problem);
  EXPECT_TRUE(result.selection.cost == 11);
  EXPECT_EQ(result.selection.node_of, (std::vector<std::uint32_t>{0, 2, 4, 5}));
}

TEST(Extract, AFreeCycleIsNoSelection) {
  const Problem problem{2, {{0, 0, {1}}, {0, 7, {}}, {1, 0, {0}}, {1, 5, {}}}, {0, 1}};
  EXPECT_TRUE(extracted(problem).selection.cost == 5);
}

TEST(Extract, ZeroCosts) {
  const Problem problem{3, {{0, 0, {1, 2}}, {1, 0, {2}}, {1, 0, {}}, {2, 0, {1}}, {2, 0, {}}}, {0}};
  EXPECT_TRUE(extracted(problem).selection.cost == 0);
}

TEST(Extract, NegativeCostsOfWhatNothingNeedsDoNotCount) {
  const Problem problem{3, {{0, 2, {}}, {0, 3, {1}}, {1, -2, {}}, {2, -50, {}}}, {0}};
  const auto result = extracted(problem);
  EXPECT_TRUE(result.selection.cost == 1);
  EXPECT_EQ(result.selection.node_of[2], none);
}

TEST(Extract, SeveralRootsThatNeedEachOther) {
  // Either root may use the other, but not both.
  const Problem problem{2, {{0, 1, {1}}, {0, 10, {}}, {1, 1, {0}}, {1, 8, {}}}, {0, 1, 0}};
  EXPECT_TRUE(extracted(problem).selection.cost == 9);
}

TEST(Extract, NoSelection) {
  const Problem circle{2, {{0, 1, {1}}, {1, 1, {0}}}, {0}};
  const auto result = extract(circle);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
  const Problem empty{1, {}, {0}};
  EXPECT_FALSE(extract(empty).has_value());
}

TEST(Extract, DeepChain) {
  constexpr std::uint32_t depth = 100'000;
  Problem problem{depth + 1, {}, {0}};
  for (std::uint32_t id = 0; id < depth; ++id) {
    problem.nodes.push_back({id, 2, {id + 1}});
    problem.nodes.push_back({id, 1, {id + 1}});
    problem.nodes.push_back({id, 0, {id == 0 ? id : id - 1}});  // back up
  }
  problem.nodes.push_back({depth, 1, {}});
  EXPECT_TRUE(extracted(problem).selection.cost == depth + 1);
}

/// Each class is shared by two, so that contraction has little to do.
TEST(Extract, DeepLadder) {
  constexpr std::uint32_t depth = 50'000;
  Problem problem{2 * depth, {}, {0, 1}};
  for (std::uint32_t id = 0; id + 2 < 2 * depth; ++id) {
    const std::uint32_t below = id / 2 * 2 + 2;
    problem.nodes.push_back({id, 1, {below, below + 1}});
    problem.nodes.push_back({id, 3, {below + id % 2}});
  }
  problem.nodes.push_back({2 * depth - 2, 1, {}});
  problem.nodes.push_back({2 * depth - 1, 1, {}});
  ExtractOptions options;
  options.time_limit_seconds = 20;
  const auto result = extract(problem, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(validate(problem, result->selection).has_value());
  EXPECT_TRUE(result->selection.cost <= 2 * depth);
}

TEST(Extract, TimeLimitGivesBestSoFarAndBound) {
  // Each of 60 roots takes one of three shared parts: a covering problem.
  Problem problem{90, {}, {}};
  for (std::uint32_t root = 0; root < 60; ++root) {
    problem.roots.push_back(root);
    for (const std::uint32_t part : {root * 7 % 30, root * 11 % 30 + 0, (root * 13 + 5) % 30})
      problem.nodes.push_back({root, 0, {60 + part}});
  }
  for (std::uint32_t part = 0; part < 30; ++part)
    problem.nodes.push_back({60 + part, 3 + part % 4, {}});
  ExtractOptions hasty;
  hasty.time_limit_seconds = 0;
  const auto result = extract(problem, hasty);
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(validate(problem, result->selection).has_value());
  EXPECT_TRUE(result->lower_bound <= result->selection.cost);
  const auto in_time = extracted(problem);
  EXPECT_TRUE(result->lower_bound <= in_time.selection.cost);
  EXPECT_TRUE(in_time.selection.cost <= result->selection.cost);
}

TEST(Extract, SameSelectionTwice) {
  Problem problem{40, {}, {0}};
  for (std::uint32_t id = 0; id < 40; ++id)
    for (std::uint32_t i = 0; i < 3; ++i) problem.nodes.push_back({id, (id * 7 + i * 5) % 6, {}});
  for (Node& node : problem.nodes)
    for (std::uint32_t i = 1; i < 4 && node.owner + i * 3 < 40; ++i)
      if ((node.owner + i + static_cast<std::uint32_t>(node.cost)) % 2 == 0)
        node.children.push_back(node.owner + i * 3);
  ExtractOptions options;
  options.use_programs = false;
  const auto first = extract(problem, options), second = extract(problem, options);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->selection.node_of, second->selection.node_of);
}

TEST(Validate, RefusesWhatIsWrong) {
  const Problem problem{3, {{0, 1, {1}}, {1, 1, {2}}, {2, 1, {1}}, {2, 1, {}}}, {0}};
  const auto refused = [&](std::vector<std::uint32_t> node_of, Cost cost) {
    return !validate(problem, {std::move(node_of), cost}).has_value();
  };
  EXPECT_FALSE(refused({0, 1, 3}, 3));
  EXPECT_TRUE(refused({0, 1, 3}, 2));     // cost
  EXPECT_TRUE(refused({0, 1, 2}, 3));     // cycle
  EXPECT_TRUE(refused({0, 1, none}, 2));  // not closed
  EXPECT_TRUE(refused({none, 1, 3}, 2));  // root
  EXPECT_TRUE(refused({0, 3, 3}, 3));     // another class's node
  EXPECT_TRUE(refused({0, 1}, 2));        // another problem
  const Problem two{2, {{0, 1, {}}, {1, 1, {}}}, {0}};
  EXPECT_FALSE(validate(two, {{0, 1}, 2}).has_value());  // needless
}

TEST(Reducer, KeepsAnOptimumAndExpands) {
  const Problem problem{
      4, {{0, 0, {1, 2}}, {1, 6, {}}, {1, 1, {3}}, {2, 6, {}}, {2, 1, {3}}, {3, 9, {}}}, {0}};
  Reducer reducer(problem);
  reducer.run();
  ASSERT_FALSE(reducer.infeasible());
  const Problem rest = reducer.problem();
  EXPECT_LT(rest.nodes.size(), problem.nodes.size());
  reducer.run(11);  // nothing is cheaper than 11
  EXPECT_TRUE(reducer.infeasible() || reducer.problem().nodes.size() <= rest.nodes.size());
}

}  // namespace
}  // namespace lemma::exact
