// Every way to a proof against trying all selections.

#include <cstdlib>

#include <gtest/gtest.h>

#include "egraph/exact/answer_sets.h"
#include "egraph/exact/bound.h"
#include "egraph/exact/branch_and_bound.h"
#include "egraph/exact/extract.h"
#include "egraph/exact/validate.h"
#include "tests/egraph/exact/random_problem.h"

namespace lemma::exact {
namespace {

/// LEMMA_RANDOM_EGRAPHS=100000 makes the first test longer.
std::uint64_t random_count() {
  const char* wanted = std::getenv("LEMMA_RANDOM_EGRAPHS");
  return wanted == nullptr ? 5000 : std::strtoull(wanted, nullptr, 10);
}

TEST(BruteForce, ExtractAgrees) {
  std::uint64_t solvable = 0;
  for (std::uint64_t seed = 0; seed < random_count(); ++seed) {
    const Problem problem = random_problem(seed);
    const auto expected = brute_force(problem);
    ExtractOptions options;
    options.use_programs = false;
    const auto found = extract(problem, options);
    ASSERT_EQ(found.has_value(), expected.has_value()) << "seed " << seed;
    if (!expected) continue;
    ++solvable;
    ASSERT_TRUE(quick_lower_bound(problem) <= *expected) << "seed " << seed;
    ASSERT_TRUE(found->optimal) << "seed " << seed;
    ASSERT_TRUE(found->selection.cost == *expected) << "seed " << seed;
    ASSERT_TRUE(found->lower_bound == *expected) << "seed " << seed;
    const auto valid = validate(problem, found->selection);
    ASSERT_TRUE(valid.has_value()) << "seed " << seed << ": " << valid.error().message;
  }
  EXPECT_GT(solvable, random_count() / 2);
  RecordProperty("egraphs", static_cast<int>(random_count()));
  RecordProperty("solvable", static_cast<int>(solvable));
}

/// Reduction and own search against clasp on the problem as it is.
TEST(BruteForce, LargerProblemsAgreeWithAnswerSets) {
  if (!answer_sets_available()) GTEST_SKIP() << "clasp is not installed";
  std::uint64_t proved = 0;
  for (std::uint64_t seed = 0; seed < random_count() / 40; ++seed) {
    const Problem problem = larger_random_problem(seed);
    const Limit limit{.deadline = Clock::now() + std::chrono::seconds(30), .stop = nullptr};
    const Outcome expected = solve_by_answer_sets(problem, 1'000'000, limit);
    ASSERT_TRUE(expected.proved) << "seed " << seed;
    ExtractOptions options;
    options.use_programs = false;
    options.time_limit_seconds = 0.3;
    const auto found = extract(problem, options);
    ASSERT_EQ(found.has_value(), expected.best.has_value()) << "seed " << seed;
    if (!found) continue;
    ASSERT_TRUE(validate(problem, found->selection).has_value()) << "seed " << seed;
    ASSERT_TRUE(found->selection.cost >= expected.best->cost) << "seed " << seed;
    ASSERT_TRUE(found->lower_bound <= expected.best->cost) << "seed " << seed;
    if (!found->optimal) continue;
    ++proved;
    ASSERT_TRUE(found->selection.cost == expected.best->cost) << "seed " << seed;
  }
  EXPECT_GT(proved, random_count() / 80);
  RecordProperty("proved", static_cast<int>(proved));
}

using Solver = Outcome (*)(const Problem&, Cost, const Limit&);

/// The solver on unreduced problems, with no bound and with the optimum as a bound.
void check_solver(Solver solve, std::uint64_t count, bool small_costs_only) {
  std::uint64_t proofs = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const Problem problem = random_problem(seed);
    bool small = true;
    Cost sum = 1;
    for (const Node& node : problem.nodes) {
      small = small && node.cost < 1000;
      sum += node.cost < 0 ? -node.cost : node.cost;
    }
    if (!small && small_costs_only) continue;
    const auto expected = brute_force(problem);
    const Limit limit{.deadline = Clock::now() + std::chrono::seconds(20), .stop = nullptr};
    const Outcome free = solve(problem, sum, limit);
    ASSERT_TRUE(free.proved) << "seed " << seed;
    ASSERT_EQ(free.best.has_value(), expected.has_value()) << "seed " << seed;
    ++proofs;
    if (!expected) continue;
    ASSERT_TRUE(free.best->cost == *expected) << "seed " << seed;
    ASSERT_TRUE(free.lower_bound == free.best->cost) << "seed " << seed;
    ASSERT_TRUE(validate(problem, *free.best).has_value()) << "seed " << seed;
    const Outcome bounded = solve(problem, *expected, limit);
    ASSERT_TRUE(bounded.proved) << "seed " << seed;
    ASSERT_FALSE(bounded.best.has_value()) << "seed " << seed;
  }
  EXPECT_GT(proofs, count / 2);
}

TEST(BruteForce, OwnSearchAgrees) {
  check_solver(
      [](const Problem& problem, Cost bound, const Limit& limit) {
        return branch_and_bound(problem, bound, {.most_decisions = 100000, .limit = limit});
      },
      3000, false);
}

TEST(BruteForce, AnswerSetsAgree) {
  if (!answer_sets_available()) GTEST_SKIP() << "clasp is not installed";
  check_solver(solve_by_answer_sets, 300, true);
}

/// Costs of 80 bits, of which clasp sees 30.
TEST(BruteForce, AnswerSetsBoundWideCosts) {
  if (!answer_sets_available()) GTEST_SKIP() << "clasp is not installed";
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Problem problem = random_problem(seed);
    Cost sum = 1, most = 0;
    for (const Node& node : problem.nodes) {
      sum += node.cost;
      most = std::max(most, node.cost);
    }
    const auto expected = brute_force(problem);
    if (most < 1'000'000'000'000 || !expected) continue;
    ++seen;
    const Limit limit{.deadline = Clock::now() + std::chrono::seconds(20), .stop = nullptr};
    const Outcome outcome = solve_by_answer_sets(problem, sum, limit);
    ASSERT_TRUE(outcome.best && outcome.lower_bound) << "seed " << seed;
    ASSERT_TRUE(validate(problem, *outcome.best).has_value()) << "seed " << seed;
    ASSERT_TRUE(*outcome.lower_bound <= *expected) << "seed " << seed;
    ASSERT_TRUE(*expected <= outcome.best->cost) << "seed " << seed;
    ASSERT_TRUE(outcome.best->cost - *outcome.lower_bound <= most / 10'000'000) << "seed " << seed;
    const Outcome none_cheaper = solve_by_answer_sets(problem, *expected, limit);
    ASSERT_FALSE(none_cheaper.best.has_value()) << "seed " << seed;
    ASSERT_TRUE(*none_cheaper.lower_bound <= *expected) << "seed " << seed;
  }
  EXPECT_GT(seen, 50);
}

}  // namespace
}  // namespace lemma::exact
