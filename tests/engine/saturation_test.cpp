#include "engine/saturation.h"

#include <cmath>
#include <set>

#include "engine/chosen_term.h"
#include "engine/exact_extraction.h"
#include "tests/engine/plain.h"

namespace lemma::engine {
namespace {

using testing::expect_sound;
using testing::PlainEGraph;
using testing::rules_of;
using testing::term;

constexpr std::string_view sum_rules =
    "commute: (+ ?x ?y) => (+ ?y ?x)\n"
    "associate: (+ (+ ?x ?y) ?z) <=> (+ ?x (+ ?y ?z))\n";

std::string sum_of(int count) {
  std::string sum = "x0";
  for (int i = 1; i < count; ++i) sum = "(+ " + sum + " x" + std::to_string(i) + ")";
  return sum;
}

TEST(Saturation, OfASumHasAllDivisionsOfAllSets) {
  for (const int count : {2, 4, 7}) {
    PlainEGraph egraph;
    term(egraph, sum_of(count));
    RoundLimits limits;
    limits.match_limit = 0;
    const Report report = saturate<PlainEGraph>(egraph, rules_of(egraph, sum_rules), limits);
    EXPECT_EQ(report.stop, StopReason::saturated);
    EXPECT_EQ(egraph.node_count(), std::pow(3, count) - std::pow(2, count + 1) + 1 + count);
    EXPECT_EQ(egraph.class_count(), std::pow(2, count) - 1);
    expect_sound(egraph);
  }
}

TEST(Saturation, RulesThatRestTakePartAgain) {
  PlainEGraph egraph;
  term(egraph, sum_of(6));
  RoundLimits limits;
  limits.match_limit = 8;
  limits.iterations = 1000;
  const Report report = saturate<PlainEGraph>(egraph, rules_of(egraph, sum_rules), limits);
  EXPECT_EQ(report.stop, StopReason::saturated);
  EXPECT_GT(report.rules[0].rests, 0);
  EXPECT_EQ(egraph.node_count(), 729 - 128 + 1 + 6);
}

TEST(Saturation, LimitsAreKept) {
  PlainEGraph egraph;
  term(egraph, sum_of(9));
  RoundLimits limits;
  limits.node_limit = 500;
  EXPECT_EQ(saturate<PlainEGraph>(egraph, rules_of(egraph, sum_rules), limits).stop,
            StopReason::nodes);
  EXPECT_LE(egraph.node_count(), 502);
  limits.node_limit = 100'000;
  limits.iterations = 1;
  EXPECT_EQ(saturate<PlainEGraph>(egraph, rules_of(egraph, sum_rules), limits).stop,
            StopReason::iterations);
  limits.cancelled = [] { return true; };
  EXPECT_EQ(saturate<PlainEGraph>(egraph, rules_of(egraph, sum_rules), limits).stop,
            StopReason::cancelled);
  expect_sound(egraph);
}

/// All matches of a pattern by trying all nodes for all of its nodes.
std::set<std::vector<ClassId>> naive_matches(const PlainEGraph& egraph, const Pattern& pattern) {
  std::set<std::vector<ClassId>> partial = {std::vector<ClassId>(pattern.variable_count)};
  for (const PatternNode& wanted : pattern.nodes) {
    std::set<std::vector<ClassId>> next;
    for (const std::vector<ClassId>& known : partial)
      for (std::uint32_t i = 0; i < egraph.id_count(); ++i) {
        const ENodeId id{i};
        const auto children = egraph.children(id);
        if (egraph.node(id).duplicate || egraph.form(id) != wanted.form ||
            children.size() != wanted.operands.size())
          continue;
        std::vector<ClassId> extended = known;
        const auto agrees = [&](std::uint32_t variable, ClassId value) {
          if (extended[variable].is_none()) extended[variable] = value;
          return extended[variable] == value;
        };
        bool fits = agrees(wanted.result, egraph.find(id.founded()));
        for (std::size_t k = 0; k < children.size() && fits; ++k)
          fits = agrees(wanted.operands[k], children[k]);
        if (fits) next.insert(extended);
      }
    partial = std::move(next);
  }
  return partial;
}

TEST(Matching, FindsEachMatchOnceAcrossRounds) {
  PlainEGraph egraph;
  term(egraph, sum_of(4));
  const auto rules = rules_of(egraph, sum_rules);
  const auto patterns = rules_of(egraph,
                                 "a: (+ ?x ?x) => ?x\nb: (+ (+ ?x ?y) (+ ?y ?z)) => ?x\n"
                                 "c: (+ x1 (+ ?x x2)) => ?x\nd: (+ (+ ?x ?y) ?z) => ?x");
  std::vector<std::set<std::vector<ClassId>>> found(patterns.size());
  std::uint32_t since = 0;
  RoundLimits one_round;
  one_round.iterations = 1;
  Watch watch(one_round);
  for (int round = 0; round < 5; ++round) {
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      Matcher<PlainEGraph> matcher(egraph, patterns[p].left, {since, 1'000'000, &watch});
      ASSERT_TRUE(matcher.run());
      std::set<std::vector<ClassId>> renamed;
      for (std::vector<ClassId> match : found[p]) {
        for (ClassId& id : match) id = egraph.find(id);
        renamed.insert(match);
      }
      std::set<std::vector<ClassId>> in_this_round;
      for (std::size_t i = 0; i < matcher.matches().size(); ++i) {
        const auto match = matcher.matches()[i];
        EXPECT_TRUE(in_this_round.insert({match.begin(), match.end()}).second);
      }
      renamed.insert(in_this_round.begin(), in_this_round.end());
      EXPECT_EQ(renamed, naive_matches(egraph, patterns[p].left)) << patterns[p].name << round;
      found[p] = renamed;
    }
    since = egraph.clock();
    saturate<PlainEGraph>(egraph, rules, one_round);
  }
}

TEST(Extraction, ExactCountsWhatIsSharedOnce) {
  PlainEGraph egraph;
  // As trees, (g (h a)) twice costs more than two terms of four words; shared, it costs less.
  const ClassId root = term(egraph, "(pair (u (u (u a))) (v (v (v b))))");
  egraph.unite(term(egraph, "(u (u (u a)))"), term(egraph, "(p (g (g (h a))))"));
  egraph.unite(term(egraph, "(v (v (v b)))"), term(egraph, "(q (g (g (h a))))"));
  egraph.rebuild();
  const std::vector<ClassId> roots = {root};
  const auto one = [](const PlainEGraph&, ENodeId) { return 1.0; };
  const auto greedy = extract_greedy(egraph, roots, one);
  ASSERT_TRUE(greedy) << greedy.error().message;
  EXPECT_EQ(greedy->cost, 9);
  EXPECT_TRUE(validate(egraph, roots, one, *greedy));
  const auto exact = extract_exactly(egraph, roots, one, *greedy);
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_TRUE(exact->optimal);
  EXPECT_EQ(exact->selection.cost, 7);
  EXPECT_EQ(text(*chosen_term(egraph, exact->selection, root)),
            "(pair (p (g (g (h a)))) (q (g (g (h a)))))");
}

TEST(Extraction, ATermThatContainsItselfIsNotChosen) {
  PlainEGraph egraph;
  const ClassId x = term(egraph, "x"), product = term(egraph, "(* x 1)");
  egraph.unite(x, product);
  egraph.rebuild();
  EXPECT_EQ(text(*smallest_term(egraph, product)), "x");
}

}  // namespace
}  // namespace lemma::engine
