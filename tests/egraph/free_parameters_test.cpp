// Rules with free parameters in an e-graph: a right side for each value that fits.

#include <gtest/gtest.h>

#include "egraph/match.h"
#include "egraph/rule_use.h"
#include "egraph/saturation.h"
#include "ir/operator.h"
#include "tests/egraph/helpers.h"

namespace lemma {
namespace {

using testing::graph_of;
using testing::rules_of;

/// The right side fits no further place: its own product has batches.
std::string rows(std::string_view values, std::string_view condition = "") {
  return "rule rows\n  x : [k*m, c]\n  w : [c, n]\n  free k : " + std::string(values) + "\n" +
         std::string(condition) +
         "  MatMul(x, w) => Reshape{shape=[k*m, n]}(MatMul(Reshape{shape=[k, m, c]}(x), w))\n";
}

std::string product(std::int64_t row_count) {
  return "graph \"product\"\n  input %0 \"x\" : f32[" + std::to_string(row_count) +
         ", 5]\n  input %1 \"w\" : f32[5, 7]\n  %2 = MatMul(%0, %1)\n  output \"y\" = %2\n";
}

struct Saturated {
  EGraph egraph;
  SaturationReport report;
};

Saturated saturated(const std::vector<CompiledRule>& rules, const std::string& graph) {
  Saturated result;
  result.egraph.add_graph(graph_of(graph));
  SaturationLimits limits;
  limits.log_applications = true;
  result.report = saturate(result.egraph, rules, limits);
  EXPECT_EQ(result.report.stop, StopReason::saturated);
  const auto sound = result.egraph.check_invariants();
  EXPECT_TRUE(sound) << sound.error().message;
  return result;
}

/// The values of a dimension in the applications, in their order.
std::vector<std::int64_t> values_used(const SaturationReport& report, const std::string& name) {
  std::vector<std::int64_t> result;
  for (const Application& application : report.log)
    result.push_back(application.bindings.dimensions.at(name).constant().value_or(-1));
  return result;
}

using Values = std::vector<std::int64_t>;

TEST(FreeParameters, GiveARightSideForEachValue) {
  const auto rules = rules_of(rows("4, 2, 5, 3"));
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_TRUE(rules[0].takes_free_values);
  const Saturated made = saturated(rules, product(12));
  EXPECT_EQ(values_used(made.report, "k"), (Values{4, 2, 3}));
  EXPECT_EQ(values_used(made.report, "m"), (Values{3, 6, 4}));
  EXPECT_EQ(made.report.rules[0].applications, 3U);
  EXPECT_EQ(made.egraph.nodes_of(*find_operator("MatMul")).size(), 4U);
  // All of them are the one product.
  const ClassId output = made.egraph.find(made.egraph.outputs()[0].value);
  EXPECT_EQ(made.egraph.nodes(output).size(), 4U);
}

TEST(FreeParameters, OfSizesThatNothingDividesGiveNone) {
  for (const char* values : {"2, 4, 8", "divisors of k*m", "target"}) {
    const Saturated made = saturated(rules_of(rows(values)), product(values[0] == 'd' ? 1 : 7));
    EXPECT_TRUE(made.report.log.empty()) << values;
    EXPECT_EQ(made.egraph.nodes_of(*find_operator("MatMul")).size(), 1U);
  }
}

TEST(FreeParameters, HaveToMeetConditions) {
  const Saturated made = saturated(rules_of(rows("2, 3, 4, 6", "  where k < m\n")), product(12));
  EXPECT_EQ(values_used(made.report, "k"), (Values{2, 3}));
}

TEST(FreeParameters, TakeTheTargetsValues) {
  const auto parsed = parse_substitutions(rows("target"), "test.rules");
  ASSERT_TRUE(parsed);
  const Values target = {6, 5, 2};
  const auto uses = compile_uses(*parsed, {}, {}, target);
  ASSERT_TRUE(uses) << uses.error().message;
  ASSERT_EQ(uses->rules.size(), 1U);
  EXPECT_EQ(values_used(saturated(uses->rules, product(12)).report, "k"), (Values{6, 2}));
  const auto none = compile_uses(*parsed, {});
  ASSERT_TRUE(none);
  ASSERT_EQ(none->rules.size(), 1U);
  EXPECT_TRUE(saturated(none->rules, product(12)).report.log.empty());
}

TEST(FreeParameters, AreUsedWhateverATypicalApplicationCosts) {
  // Two products instead of one: no direction without a free parameter would be used.
  const auto parsed = parse_substitutions(
      "rule cut\n  x : [m + l, c]\n  w : [c, n]\n  free m : 4\n  MatMul(x, w) => "
      "Concat{axis=0}(MatMul(Slice{axes=[0], ends=[m], starts=[0]}(x), w), "
      "MatMul(Slice{axes=[0], ends=[m + l], starts=[m]}(x), w))\n",
      "test.rules");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto uses = uses_of(parsed->front(), unit_costs(parsed->front()));
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_FALSE(uses[0].saves);
  for (const RuleInput& input : uses[0].rule.inputs) EXPECT_FALSE(input.weight);
}

TEST(FreeParameters, OfAnEquationAreBoundWhereItIsReadBackward) {
  std::string equation = rows("2, 3");
  equation.replace(equation.find("=>"), 2, "=");
  const auto rules = rules_of(equation);
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_TRUE(rules[0].takes_free_values);
  EXPECT_FALSE(rules[1].takes_free_values);
  // 4 parts are put together though 4 is not among the values; the product is then divided again.
  const Saturated made = saturated(rules, R"(graph "parts"
  input %0 "x" : f32[12, 5]
  input %1 "w" : f32[5, 7]
  %2 = Reshape{shape=[4, 3, 5]}(%0)
  %3 = MatMul(%2, %1)
  %4 = Reshape{shape=[12, 7]}(%3)
  output "y" = %4
)");
  EXPECT_EQ(values_used(made.report, "k"), (Values{4, 2, 3}));
}

TEST(FreeParameters, GiveTheSameInAnyNumberOfThreads) {
  std::string graph = "graph \"many\"\n  input %0 \"w\" : f32[8, 8]\n";
  for (int i = 1; i <= 40; ++i)
    graph += "  input %" + std::to_string(i) + " \"x" + std::to_string(i) + "\" : f32[" +
             std::to_string(4 * i) + ", 8]\n";
  for (int i = 1; i <= 40; ++i)
    graph += "  %" + std::to_string(40 + i) + " = MatMul(%" + std::to_string(i) + ", %0)\n";
  for (int i = 1; i <= 40; ++i)
    graph += "  output \"y" + std::to_string(i) + "\" = %" + std::to_string(40 + i) + "\n";
  const auto rules = rules_of(rows("divisors of k*m"));
  std::vector<Values> used;
  for (const std::size_t threads : {1U, 3U}) {
    EGraph egraph;
    egraph.add_graph(graph_of(graph));
    SaturationLimits limits;
    limits.log_applications = true;
    limits.threads = threads;
    const SaturationReport report = saturate(egraph, rules, limits);
    used.push_back(values_used(report, "k"));
    EXPECT_GT(used.back().size(), 100U);
  }
  EXPECT_EQ(used[0], used[1]);
}

}  // namespace
}  // namespace lemma
