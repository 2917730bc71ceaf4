// The search follows the costs that it is given: a table of made-up ones changes which directions of
// rules are used and what is extracted, and an evaluator of whole graphs has the last word.

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "egraph/rule_use.h"
#include "facts/same_structure.h"
#include "ir/graph_text.h"
#include "search/optimize.h"
#include "tests/search/random_network.h"

namespace lemma {
namespace {

/// Costs by the name of the operator; everything else costs 1.
class Table : public CostProvider {
 public:
  explicit Table(std::map<std::string, double> seconds) : seconds_(std::move(seconds)) {}
  std::optional<Cost> find(const CostKey& key) const override {
    const auto found = seconds_.find(std::string(key.op->name));
    return Cost{found == seconds_.end() ? 1 : found->second, 0, Provenance::measured};
  }

 private:
  std::map<std::string, double> seconds_;
};

OperatorCosts costs_of(std::map<std::string, double> seconds) {
  return OperatorCosts(testing::cpu_costs().priced_device(),
                       {std::make_shared<Table>(std::move(seconds))});
}

RuleDatabase parsed_rules() {
  return RuleDatabase::without_proof(*parse_substitutions(
      "rule sum_in_exponent\n  x : [A..]\n  y : [A..]\n  Exp(Add(x, y)) = Mul(Exp(x), Exp(y))\n",
      "test.rules"));
}

Graph parsed(std::string_view text) { return std::move(*parse_graph(text)); }

constexpr std::string_view exponential_of_sum = R"(graph "g"
  input %0 "x" : f32[8, 8]
  input %1 "y" : f32[8, 8]
  %2 = Add(%0, %1)
  %3 = Exp(%2)
  output "z" = %3
)";
constexpr std::string_view product_of_exponentials = R"(graph "g"
  input %0 "x" : f32[8, 8]
  input %1 "y" : f32[8, 8]
  %2 = Exp(%0)
  %3 = Exp(%1)
  %4 = Mul(%2, %3)
  output "z" = %4
)";

std::string directions(const OperatorCosts& costs) {
  const Substitution rule = parsed_rules().substitutions().front();
  const OperationCost cost = [&costs](const OperatorRecord& record, const Instance& instance,
                                      std::span<const TensorType> outputs) {
    return costs.find(costs.key(record, instance, outputs)).seconds;
  };
  std::string result;
  for (const RuleUse& use : uses_of(rule, term_costs(rule, {{cost}}))) {
    result += use.backward ? "<=" : "=>";
    for (const RuleInput& input : use.rule.inputs)
      if (input.weight) result += input.name;
  }
  return result;
}

bool becomes(std::string_view from, std::string_view to, const OperatorCosts& costs) {
  const auto found = optimize(parsed(from), parsed_rules(), costs, {});
  EXPECT_TRUE(found) << found.error().message;
  return check_same_structure(found->graph, parsed(to)).has_value();
}

TEST(MadeUpCosts, DecideWhichDirectionsAreUsed) {
  EXPECT_EQ(directions(costs_of({{"Exp", 10}})), "=>x=>y<=");
  EXPECT_EQ(directions(costs_of({{"Add", 10}})), "=>");
  EXPECT_EQ(directions(costs_of({{"Add", 2}})), "=><=");
}

TEST(MadeUpCosts, DecideWhatIsExtracted) {
  const OperatorCosts expensive_exponential = costs_of({{"Exp", 10}});
  const OperatorCosts expensive_sum = costs_of({{"Add", 10}});
  EXPECT_TRUE(becomes(product_of_exponentials, exponential_of_sum, expensive_exponential));
  EXPECT_TRUE(becomes(exponential_of_sum, exponential_of_sum, expensive_exponential));
  EXPECT_TRUE(becomes(exponential_of_sum, product_of_exponentials, expensive_sum));
  EXPECT_TRUE(becomes(product_of_exponentials, product_of_exponentials, expensive_sum));
}

/// Finds a graph the cheaper, the more nodes it has.
class LikesNodes : public GraphEvaluator {
 public:
  Result<std::vector<Cost>> evaluate(std::span<const Graph* const> graphs) const override {
    std::vector<Cost> result;
    for (const Graph* graph : graphs) {
      seen_.push_back(*graph);
      result.push_back({1.0 / static_cast<double>(graph->live_nodes().size()), 0, {}});
    }
    return result;
  }
  const std::vector<Graph>& seen() const { return seen_; }

 private:
  mutable std::vector<Graph> seen_;
};

TEST(Evaluator, GetsDistinctGraphsWithTheOriginalAndDecides) {
  const Graph original = parsed(product_of_exponentials);
  const LikesNodes evaluator;
  SearchOptions options;
  options.evaluator = &evaluator;
  const auto kept = optimize(original, parsed_rules(), costs_of({{"Exp", 10}}), options);
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_EQ(kept->candidates, 2U);
  EXPECT_TRUE(check_same_structure(evaluator.seen()[0], original));
  EXPECT_TRUE(check_same_structure(evaluator.seen()[1], parsed(exponential_of_sum)));
  EXPECT_FALSE(kept->improved);
  EXPECT_TRUE(check_same_structure(kept->graph, original));
  EXPECT_TRUE(kept->rules_used.empty());

  const auto taken =
      optimize(parsed(exponential_of_sum), parsed_rules(), costs_of({{"Add", 10}}), options);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_TRUE(taken->improved);
  EXPECT_TRUE(check_same_structure(taken->graph, parsed(product_of_exponentials)));
}

/// The sum of the operators as an evaluator chooses what the search would have chosen.
TEST(Evaluator, SumOfOperatorsChangesNothing) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const Graph graph = testing::RandomNetwork(seed).make(12);
    SearchOptions options;
    options.node_limit = 500;
    options.time_limit_seconds = 300;
    const auto without = optimize(graph, testing::shipped_rules(), testing::cpu_costs(), options);
    const SumOfOperators evaluator(testing::cpu_costs());
    options.evaluator = &evaluator;
    const auto with = optimize(graph, testing::shipped_rules(), testing::cpu_costs(), options);
    ASSERT_TRUE(without && with);
    EXPECT_TRUE(check_same_structure(with->graph, without->graph)) << seed;
    EXPECT_EQ(with->improved, without->improved) << seed;
  }
}

/// Providers of others may answer anything.
TEST(InvalidCosts, AreOneClearError) {
  for (const double seconds : {std::nan(""), -1.0, std::numeric_limits<double>::infinity()}) {
    const auto result =
        optimize(parsed(product_of_exponentials), parsed_rules(), costs_of({{"Exp", seconds}}), {});
    ASSERT_FALSE(result) << seconds;
    EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(result.error().message.starts_with("a cost provider says that Exp"))
        << result.error().message;
    EXPECT_NE(result.error().message.find("has to be finite and not negative"), std::string::npos);
  }
}

TEST(LearnedCosts, TheSearchBeginsAnewWithThem) {
  OperatorCosts costs = costs_of({{"Exp", 10}});
  SearchOptions options;
  std::vector<Graph> found;
  options.learn_costs = [&](std::span<const Graph* const> graphs) {
    found.push_back(*graphs.front());
    if (found.size() > 1) return false;
    costs = costs_of({{"Add", 30}});
    return true;
  };
  const auto result = optimize(parsed(product_of_exponentials), parsed_rules(), costs, options);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(check_same_structure(found[0], parsed(exponential_of_sum)));
  EXPECT_TRUE(check_same_structure(found[1], parsed(product_of_exponentials)));
  EXPECT_TRUE(check_same_structure(result->graph, parsed(product_of_exponentials)));
  EXPECT_EQ(result->before.seconds, 3);
  EXPECT_FALSE(result->improved);
}

}  // namespace
}  // namespace lemma
