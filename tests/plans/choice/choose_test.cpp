#include "plans/choice/choose.h"

#include <cmath>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "plans/choice/fronts.h"
#include "plans/choice/improve.h"
#include "plans/choice/layers.h"
#include "plans/choice/prices.h"
#include "plans/choice/search.h"
#include "tests/plans/choice/random_problem.h"

namespace lemma::choice {
namespace {

/// Random problems of all kinds, small enough to try everything.
std::vector<Problem> small_problems(unsigned seed, int count) {
  std::mt19937 random(seed);
  std::vector<Problem> problems;
  for (int number = 0; number < count; ++number) {
    RandomOptions options;
    options.nodes = 1 + random() % 9;
    options.edges_of_a_node = 0.5 * static_cast<double>(random() % 6);
    options.has_alike = random() % 3 == 0;
    options.has_moments = random() % 2 == 0;
    options.limit_part = random() % 3 == 0 ? -1 : 0.1 * static_cast<double>(random() % 8);
    options.infinite_part = random() % 3 == 0 ? 0.4 : 0;
    problems.push_back(random_problem(random, options));
    EXPECT_TRUE(check_problem(problems.back()));
  }
  return problems;
}

void expect_best(const Problem& problem, const Outcome& outcome) {
  const double least = least_of_all(problem);
  if (std::isinf(least)) {
    EXPECT_FALSE(outcome.is_found());
    EXPECT_TRUE(outcome.is_impossible);
    return;
  }
  ASSERT_TRUE(outcome.is_found());
  EXPECT_TRUE(is_allowed(problem, outcome.choice));
  EXPECT_NEAR(outcome.seconds, least, 1e-9);
  EXPECT_NEAR(seconds_of(problem, outcome.choice), outcome.seconds, 1e-9);
  EXPECT_EQ(peak_of(problem, outcome.choice), outcome.peak);
  EXPECT_TRUE(outcome.is_optimal());
}

TEST(Choose, EqualsAllChoicesOfRandomProblems) {
  int methods[5] = {0, 0, 0, 0, 0}, impossible = 0;
  for (const Problem& problem : small_problems(1, 600)) {
    const Outcome outcome = choose(problem);
    expect_best(problem, outcome);
    ++methods[static_cast<int>(outcome.method)];
    impossible += outcome.is_impossible ? 1 : 0;
  }
  for (int method = 0; method < 3; ++method) EXPECT_GT(methods[method], 10) << method;
  EXPECT_GT(impossible, 20);
}

TEST(Choose, EqualsAllChoicesByLayersAndByBranchAndBound) {
  ChooseOptions options;
  options.most_points = 0;
  options.most_entries = 6;
  for (const std::uint64_t most_layer_states : {400'000, 0}) {
    options.most_layer_states = most_layer_states;
    int with_it = 0;
    for (const Problem& problem : small_problems(2, 200)) {
      const Outcome outcome = choose(problem, options);
      expect_best(problem, outcome);
      const Method method = most_layer_states > 0 ? Method::layers : Method::branch_and_bound;
      with_it += outcome.method == method ? 1 : 0;
    }
    EXPECT_GT(with_it, 50);
  }
}

TEST(Choose, BoundsHoldWhereTheSearchIsCutOff) {
  ChooseOptions options;
  options.most_points = 0;
  options.most_entries = 4;
  options.most_layer_states = 0;
  options.most_states = 3;
  options.improve_rounds = 0;
  int cut_off = 0;
  for (const Problem& problem : small_problems(3, 300)) {
    const double least = least_of_all(problem);
    const Outcome outcome = choose(problem, options);
    EXPECT_LE(outcome.bound, least + 1e-6);
    EXPECT_FALSE(outcome.is_impossible && !std::isinf(least));
    if (!outcome.is_found()) continue;
    EXPECT_TRUE(is_allowed(problem, outcome.choice));
    EXPECT_GE(outcome.seconds, least - 1e-9);
    if (outcome.is_optimal()) {
      EXPECT_NEAR(outcome.seconds, least, 1e-6);
    }
    cut_off += outcome.is_optimal() ? 0 : 1;
  }
  EXPECT_GT(cut_off, 30);
}

/// Nothing but the seeds is looked at where the search is stopped at once and no elimination is exact.
TEST(Choose, IsNoWorseThanItsSeedsHoweverEarlyItIsStopped) {
  ChooseOptions options;
  options.most_points = 0;
  options.most_entries = 4;
  int stopped = 0, of_seed = 0;
  for (const Problem& problem : small_problems(4, 300)) {
    const Outcome best = choose(problem);
    if (!best.is_found()) continue;
    const Choice first(problem.nodes.size(), 0);
    options.seeds = {first, best.choice};
    options.stop = [] { return true; };
    const Outcome outcome = choose(problem, options);
    ASSERT_TRUE(outcome.is_found());
    EXPECT_TRUE(is_allowed(problem, outcome.choice));
    EXPECT_LE(outcome.seconds, best.seconds + 1e-9);
    EXPECT_LE(outcome.bound, best.seconds + 1e-9);
    stopped += outcome.was_stopped ? 1 : 0;
    of_seed += outcome.choice == best.choice ? 1 : 0;
    EXPECT_FALSE(outcome.was_stopped && outcome.is_optimal());
  }
  EXPECT_GT(stopped, 30);
  EXPECT_GT(of_seed, 30);
}

/// Without a choice that is known, and with prices that are not good: what is found depends on the method alone.
TEST(Choose, EachExactMethodFindsTheBestAlone) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  std::mt19937 random(10);
  for (int number = 0; number < 300; ++number) {
    RandomOptions options;
    options.nodes = 3 + random() % 6;
    options.most_bytes = number % 2 == 0 ? 4 : 30;
    options.edges_of_a_node = 1.2;
    options.has_moments = number % 3 > 0;
    options.limit_part = 0.05 * static_cast<double>(1 + random() % 9);
    const Problem problem = random_problem(random, options);
    const Merged merged_problem = merged(problem);
    const Model& model = merged_problem.model;
    const double least = least_of_all(problem);
    const auto expect = [&](const char* method, const std::optional<Values>& values) {
      EXPECT_EQ(values.has_value(), !std::isinf(least)) << method;
      if (!values || std::isinf(least)) return;
      EXPECT_TRUE(is_allowed(problem, merged_problem.choice_of(*values))) << method;
      EXPECT_NEAR(seconds_of(model, *values), least, 1e-9) << method;
    };
    const std::vector<double> prices(model.room.size(), static_cast<double>(random() % 3) / 4);
    const double price = price_of_room(model, prices);
    EliminationOptions in_order;
    in_order.order = order_by_moments(model);
    const Elimination elimination = eliminated(model, priced_seconds(model, prices), in_order);
    const LayerOutcome layers = best_by_layers(model, elimination, price, infinite);
    EXPECT_TRUE(layers.is_complete);
    expect("layers", layers.values);
    const SearchOutcome searched = search(model, elimination, price, infinite);
    EXPECT_TRUE(searched.is_complete);
    expect("branch and bound", searched.values);
    const FrontOutcome fronts = best_by_fronts(model, infinite);
    EXPECT_EQ(fronts.is_complete, model.room.size() <= most_front_moments);
    if (fronts.is_complete) expect("fronts", fronts.values);
  }
}

TEST(Elimination, IsExactOrABound) {
  for (const Problem& problem : small_problems(4, 200)) {
    Problem without = problem;
    without.limit.reset();
    const Model model = merged(without).model;
    const double least = least_of_all(without);
    const Elimination exact = eliminated(model, model.seconds);
    EXPECT_TRUE(exact.is_exact);
    EXPECT_TRUE(exact.bound == least || std::abs(exact.bound - least) < 1e-9);
    if (!std::isinf(least)) {
      EXPECT_NEAR(seconds_of(model, decided(exact)), least, 1e-9);
    }
    EXPECT_LE(eliminated(model, model.seconds, {6, 1'000'000, 6}).bound, least + 1e-9);
  }
}

TEST(Prices, NoneGiveMoreThanTheBest) {
  std::mt19937 random(5);
  for (const Problem& problem : small_problems(6, 200)) {
    if (!problem.limit) continue;
    const Model model = merged(problem).model;
    if (!model.is_possible) continue;
    const double least = least_of_all(problem);
    std::vector<double> prices;
    for (std::size_t moment = 0; moment < model.room.size(); ++moment)
      prices.push_back(static_cast<double>(random() % 100) / 50);
    EXPECT_LE(eliminated(model, priced_seconds(model, prices)).bound - price_of_room(model, prices),
              least + 1e-9);
    const PriceOutcome outcome = bound_by_prices(model);
    EXPECT_LE(outcome.bound, least + 1e-9);
    if (outcome.values) {
      EXPECT_TRUE(fits(model, *outcome.values));
      EXPECT_GE(outcome.seconds, least - 1e-9);
    }
  }
}

TEST(Improve, KeepsTheMemoryAndNeverTakesMore) {
  std::mt19937 random(7);
  int better = 0;
  for (const Problem& problem : small_problems(8, 200)) {
    const Merged merged_problem = merged(problem);
    const Model& model = merged_problem.model;
    Values values;
    for (VariableNumber variable = 0; variable < model.variables(); ++variable)
      values.push_back(static_cast<StrategyNumber>(random() % model.values(variable)));
    const auto fitting = repaired(model, values);
    if (!fitting) continue;
    EXPECT_TRUE(fits(model, *fitting));
    const Values after = improved(model, *fitting, {5, 3, 100, {}});
    EXPECT_TRUE(fits(model, after));
    EXPECT_TRUE(is_allowed(problem, merged_problem.choice_of(after)));
    EXPECT_LE(seconds_of(model, after), seconds_of(model, *fitting));
    better += seconds_of(model, after) < seconds_of(model, *fitting) ? 1 : 0;
  }
  EXPECT_GT(better, 50);
}

TEST(Choose, LargeProblemsAreTheSameTwiceAndNearTheirBounds) {
  std::mt19937 random(9);
  RandomOptions options;
  options.nodes = 400;
  options.most_strategies = 8;
  options.is_local = true;
  options.has_moments = true;
  options.limit_part = 0.4;
  const Problem problem = random_problem(random, options);
  ChooseOptions few;
  few.most_entries = 4096;
  few.most_layer_states = 1'000;
  few.most_states = 20'000;
  few.improve_rounds = 60;
  few.price_rounds = 15;
  const Outcome outcome = choose(problem, few);
  ASSERT_TRUE(outcome.is_found());
  EXPECT_TRUE(is_allowed(problem, outcome.choice));
  EXPECT_LE(outcome.bound, outcome.seconds);
  EXPECT_LT(outcome.gap(), 0.05);
  EXPECT_EQ(choose(problem, few).choice, outcome.choice);
}

TEST(Choose, AChainOfAHundredThousandNodes) {
  Problem problem;
  for (NodeNumber number = 0; number < 100'000; ++number) {
    problem.nodes.push_back({{{1, 1}, {2, 0}}, 0, 1});
    if (number > 0) problem.edges.push_back({number - 1, number, {3, 0, 0, 3}});
  }
  const Outcome outcome = choose(problem);
  EXPECT_EQ(outcome.method, Method::elimination);
  EXPECT_EQ(outcome.seconds, 150'000);
}

TEST(Problem, ErrorsSayWhatIsWrong) {
  const auto error = [](const Problem& problem) {
    const auto checked = check_problem(problem);
    return checked ? "none" : checked.error().message;
  };
  const Node two{{{1, 0}, {2, 0}}, 0, 1}, single{{{1, 0}}, 0, 1};
  EXPECT_EQ(error({{{}}, {}, {}, {}}), "node 0: no strategies");
  EXPECT_EQ(error({{{{{std::nan(""), 0}}, 0, 1}}, {}, {}, {}}),
            "node 0, strategy 0: its time is nan; a finite number from 0 on is needed");
  EXPECT_EQ(error({{two, two}, {{0, 2, {}}}, {}, {}}),
            "edge 0: its nodes are 0 and 2; there are 2 nodes");
  EXPECT_EQ(error({{two, two}, {{0, 1, {1, 2, 3}}}, {}, {}}),
            "edge 0: it has 3 times; 4 are needed");
  EXPECT_EQ(error({{two, two}, {{0, 1, {1, 2, 3, -1}}}, {}, {}}),
            "edge 0: a time is -1; a number from 0 on is needed");
  EXPECT_EQ(error({{two, two}, {{1, 1, {}}}, {}, {}}), "edge 0: it connects node 1 with itself");
  EXPECT_EQ(error({{two, single}, {}, {{0, 1}}, {}}),
            "nodes that are alike: node 0 has 2 strategies, and node 1 has 1");
}

}  // namespace
}  // namespace lemma::choice
