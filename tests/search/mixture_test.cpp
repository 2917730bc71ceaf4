// Graphs between an original and a candidate: which places there are, that each can be exchanged by itself,
// and that the evaluator's word on each decides.

#include <gtest/gtest.h>

#include "check/sampled_check.h"
#include "facts/same_structure.h"
#include "ir/check.h"
#include "ir/graph_text.h"
#include "search/optimize.h"
#include "tests/search/random_network.h"
#include "verifier/checker/explanation.h"

namespace lemma {
namespace {

constexpr std::string_view rules_text = R"(
rule sum_in_exponent
  x : [A..]
  y : [A..]
  Exp(Add(x, y)) = Mul(Exp(x), Exp(y))

rule product_of_sum
  x : [A..]
  y : [A..]
  z : [A..]
  Mul(Add(x, y), z) = Add(Mul(x, z), Mul(y, z))
)";

// Both rules make it cheaper; the two places share nothing.
constexpr std::string_view both_places = R"(graph "g"
  input %0 "x" : f32[8, 8]
  input %1 "y" : f32[8, 8]
  input %2 "z" : f32[8, 8]
  %3 = Exp(%0)
  %4 = Exp(%1)
  %5 = Mul(%3, %4)
  %6 = Tanh(%5)
  %7 = Mul(%6, %2)
  %8 = Mul(%0, %2)
  %9 = Add(%7, %8)
  output "p" = %9
)";
constexpr std::string_view only_the_product = R"(graph "g"
  input %0 "x" : f32[8, 8]
  input %1 "y" : f32[8, 8]
  input %2 "z" : f32[8, 8]
  %3 = Exp(%0)
  %4 = Exp(%1)
  %5 = Mul(%3, %4)
  %6 = Tanh(%5)
  %7 = Add(%6, %0)
  %8 = Mul(%7, %2)
  output "p" = %8
)";

std::size_t count(const Graph& graph, std::string_view op) {
  std::size_t result = 0;
  for (const NodeId id : graph.live_nodes())
    if (graph.node(id).kind == NodeKind::operation && graph.op(graph.node(id)).name == op) ++result;
  return result;
}

/// Says what graphs cost; `most` of them it can afford beside the candidates.
class Judge : public GraphEvaluator {
 public:
  Judge(std::function<double(const Graph&)> seconds, std::size_t most)
      : seconds_(std::move(seconds)), most_(most) {}
  Result<std::vector<Cost>> evaluate(std::span<const Graph* const> graphs) const override {
    std::vector<Cost> result;
    for (const Graph* graph : graphs) {
      EXPECT_TRUE(check(*graph, Stage::imported));
      result.push_back({seconds_(*graph), 0, Provenance::measured});
    }
    return result;
  }
  std::size_t affordable(const GraphCost& /*original*/) const override { return most_; }

 private:
  std::function<double(const Graph&)> seconds_;
  std::size_t most_;
};

struct Found {
  SearchResult result;
  Result<void> explained = {};
};

RuleDatabase parsed_rules() {
  return RuleDatabase::without_proof(*parse_substitutions(rules_text, "test.rules"));
}

Found search(const Graph& graph, const RuleDatabase& rules, const GraphEvaluator& evaluator,
             std::size_t node_limit = 3000) {
  SearchOptions options;
  options.evaluator = &evaluator;
  options.explain = true;
  options.node_limit = node_limit;
  options.time_limit_seconds = 300;
  auto found = optimize(graph, rules, testing::cpu_costs(), options);
  EXPECT_TRUE(found) << found.error().message;
  checker::RuleTable table;
  for (const Substitution& rule : rules.substitutions()) table[rule.name] = &rule;
  Found answer{std::move(*found)};
  answer.explained =
      checker::check_explanation(answer.result.explanation, table, {}).map([](auto&&...) {});
  return answer;
}

TEST(Mixture, TheEvaluatorDecidesForEachPlace) {
  const RuleDatabase rules = parsed_rules();
  const Graph original = std::move(*parse_graph(both_places));
  // It likes few products, and exponentials.
  const Judge judge(
      [](const Graph& graph) {
        return 100.0 + static_cast<double>(count(graph, "Mul")) -
               5.0 * static_cast<double>(count(graph, "Exp"));
      },
      8);
  const Found found = search(original, rules, judge);
  EXPECT_TRUE(found.explained) << found.explained.error().message;
  EXPECT_TRUE(found.result.improved);
  EXPECT_TRUE(check_same_structure(found.result.graph, *parse_graph(only_the_product)))
      << print_graph(found.result.graph);
  ASSERT_EQ(found.result.places.size(), 2U);
  for (const RewrittenPlaces& places : found.result.places) {
    EXPECT_EQ(places.count, 1U);
    EXPECT_GT(places.predicted_saving, 0);
    EXPECT_DOUBLE_EQ(places.measured_saving, places.text == "2 Exp, Mul -> Add, Exp" ? -4 : 1)
        << places.text;
  }
  ASSERT_EQ(found.result.rules_used.size(), 1U);
  EXPECT_EQ(found.result.rules_used.front().name, "product_of_sum");
}

TEST(Mixture, PlacesThatPayAreTakenTogether) {
  const RuleDatabase rules = parsed_rules();
  const Judge judge(
      [](const Graph& graph) { return static_cast<double>(graph.live_nodes().size()); }, 8);
  const Found found = search(std::move(*parse_graph(both_places)), rules, judge);
  EXPECT_TRUE(found.explained);
  EXPECT_EQ(found.result.rules_used.size(), 2U);
  EXPECT_EQ(count(found.result.graph, "Exp") + count(found.result.graph, "Mul"), 2U);
}

TEST(Mixture, WithoutTimeThereIsNone) {
  const RuleDatabase rules = parsed_rules();
  for (const std::size_t most : {0, 1}) {
    const Judge judge(
        [](const Graph& graph) { return static_cast<double>(graph.live_nodes().size()); }, most);
    const Found found = search(std::move(*parse_graph(both_places)), rules, judge);
    EXPECT_TRUE(found.result.places.empty());
    EXPECT_TRUE(found.result.improved);
  }
}

/// Whatever the evaluator says, the result equals the original, and the explanation holds.
TEST(Mixture, AnyChoiceEqualsTheOriginal) {
  std::size_t mixed = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Graph original = testing::RandomNetwork(seed).make(16);
    std::mt19937_64 random(seed);
    const std::size_t nodes = original.live_nodes().size();
    // The original is never liked.
    const Judge judge(
        [&](const Graph& graph) {
          return check_same_structure(graph, original) ? 1e3 + static_cast<double>(nodes)
                                                       : static_cast<double>(random() % 100);
        },
        2 + seed % 5);
    const Found found = search(original, testing::shipped_rules(), judge, 400);
    EXPECT_TRUE(found.explained) << seed << ": " << found.explained.error().message;
    mixed += found.result.places.empty() ? 0 : 1;
    const auto compared = compare_on_random_inputs(original, found.result.graph, {});
    ASSERT_TRUE(compared) << compared.error().message;
    EXPECT_TRUE(compared->passed) << seed << ": " << compared->difference;
  }
  EXPECT_GT(mixed, 3U);
}

}  // namespace
}  // namespace lemma
