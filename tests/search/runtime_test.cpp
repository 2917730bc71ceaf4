// Operators of a runtime are made for a target that is this runtime, and for no other.

#include <gmock/gmock.h>

#include "check/sampled_check.h"
#include "ir/graph_text.h"
#include "rule_language/rule_roles.h"
#include "search/optimize.h"
#include "search/rule_subset.h"
#include "tests/search/random_network.h"
#include "verifier/checker/explanation.h"

namespace lemma {
namespace {

using ::testing::Contains;
using ::testing::Not;

struct Pattern {
  const char* name;
  const char* op;  // what the runtime has for it
  const char* graph;
};

constexpr Pattern patterns[] = {
    {"conv", "FusedConv", R"(graph "g"
  input %0 "x" : f32[1, 4, 8, 8]
  input %1 "w" : f32[6, 4, 3, 3]
  input %2 "b" : f32[6]
  %3 = Conv{strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], group=1}(%0, %1, %2)
  %4 = Relu(%3)
  output "y" = %4
)"},
    {"gemm", "FusedGemm", R"(graph "g"
  input %0 "x" : f32[3, 4]
  input %1 "w" : f32[5, 4]
  input %2 "b" : f32[5]
  %3 = Gemm{transB=1}(%0, %1, %2)
  %4 = Tanh(%3)
  output "y" = %4
)"},
    {"matmul", "FusedMatMul", R"(graph "g"
  input %0 "x" : f32[2, 3, 4]
  input %1 "k" : f32[2, 5, 4]
  %2 = Transpose{perm=[0, 2, 1]}(%1)
  %3 = MatMul(%0, %2)
  %4 = ConstantOfShape{data_type=f32, shape=[], value=0.125}()
  %5 = Mul(%3, %4)
  output "y" = %5
)"},
    {"bias", "BiasGelu", R"(graph "g"
  input %0 "x" : f32[2, 3, 4]
  input %1 "b" : f32[4]
  %2 = Add(%0, %1)
  %3 = Gelu(%2)
  output "y" = %3
)"},
    {"skip", "SkipLayerNormalization", R"(graph "g"
  input %0 "x" : f32[2, 3, 4]
  input %1 "r" : f32[2, 3, 4]
  input %2 "s" : f32[4]
  input %3 "b" : f32[4]
  %4 = Add(%0, %1)
  %5 = LayerNormalization{epsilon=0.001}(%4, %2, %3)
  %6 = Add(%5, %4)
  output "y" = %6
)"},
    {"spelling", "RMSNormalization", R"(graph "g"
  input %0 "x" : f32[2, 3, 4]
  input %1 "s" : f32[4]
  %2 = ConstantOfShape{data_type=f32, shape=[], value=2.0}()
  %3 = Pow(%0, %2)
  %4 = ReduceMean{axes=[2], keepdims=1}(%3)
  %5 = ConstantOfShape{data_type=f32, shape=[], value=0.5}()
  %6 = Add(%4, %5)
  %7 = Sqrt(%6)
  %8 = Div(%0, %7)
  %9 = Mul(%8, %1)
  output "y" = %9
)"},
};

std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.live_nodes())
    if (graph.node(id).kind == NodeKind::operation)
      names.emplace_back(graph.op(graph.node(id)).name);
  return names;
}

SearchResult found(const Graph& graph, const std::string& runtime) {
  SearchOptions options;
  options.runtime = runtime;
  options.explain = true;
  options.node_limit = 2000;
  auto result = optimize(graph, testing::shipped_rules(), testing::cpu_costs(), options);
  EXPECT_TRUE(result) << result.error().message;
  return std::move(*result);
}

TEST(Runtime, ItsOperatorsAreMadeForItAlone) {
  checker::RuleTable proved;
  for (const Substitution& rule : testing::shipped_rules().substitutions())
    proved[rule.name] = &rule;
  for (const Pattern& pattern : patterns) {
    SCOPED_TRACE(pattern.name);
    const auto graph = parse_graph(pattern.graph);
    ASSERT_TRUE(graph) << graph.error().message;
    for (const char* other : {"", "another"})
      EXPECT_THAT(operators_of(found(*graph, other).graph), Not(Contains(pattern.op)));
    const SearchResult result = found(*graph, "onnxruntime");
    EXPECT_THAT(operators_of(result.graph), Contains(pattern.op));
    EXPECT_LT(result.after.seconds, result.before.seconds);
    const auto same = compare_on_random_inputs(*graph, result.graph, {.relative_tolerance = 1e-4});
    ASSERT_TRUE(same) << same.error().message;
    EXPECT_TRUE(same->passed) << same->difference;
    const auto size = checker::check_explanation(result.explanation, proved);
    ASSERT_TRUE(size) << size.error().message;
    EXPECT_GT(size->steps, 0U);
  }
}

TEST(Runtime, OnlyItsRulesDependOnIt) {
  std::size_t of_the_runtime = 0;
  for (const Substitution& rule : testing::shipped_rules().substitutions()) {
    if (has_role(rule, RuleRole::layout) || has_role(rule, RuleRole::partial)) continue;
    EXPECT_TRUE(is_for(rule, {"onnxruntime"})) << rule.name;
    of_the_runtime += is_for(rule, {""}) ? 0 : 1;
    EXPECT_EQ(is_for(rule, {""}), is_for(rule, {"another"})) << rule.name;
  }
  for (const Substitution& rule : testing::shipped_rules().substitutions()) {
    if (rule.name == "layer_normalization_spelled") {
      EXPECT_TRUE(is_for(rule, {"", 17}));  // that has the operator
      EXPECT_FALSE(is_for(rule, {"", 16}));
    }
    if (rule.name == "swish_spelled") {
      EXPECT_FALSE(is_for(rule, {"", 17}));
    }
  }
  const auto own = read_text_file("rules/substitutions/runtime.rules");
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(of_the_runtime, parse_substitutions(*own, "runtime.rules")->size());
}

}  // namespace
}  // namespace lemma
