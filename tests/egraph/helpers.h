#pragma once
// What the tests of egraph/ share.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "egraph/egraph.h"
#include "egraph/saturation.h"
#include "ir/graph_text.h"

namespace lemma::testing {

inline std::vector<CompiledRule> rules_of(std::string_view text) {
  const auto parsed = parse_substitutions(text, "test.rules");
  EXPECT_TRUE(parsed) << parsed.error().message;
  if (!parsed) return {};
  auto compiled = compile_rules(*parsed);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return compiled ? std::move(*compiled) : std::vector<CompiledRule>{};
}

inline Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? std::move(*graph) : Graph{};
}

inline constexpr std::string_view sum_rules = R"(
rule add_commutative
  x : [S..]
  y : [S..]
  Add(x, y) => Add(y, x)

rule add_associative
  x : [S..]
  y : [S..]
  z : [S..]
  Add(Add(x, y), z) = Add(x, Add(y, z))
)";

/// ((x1 + x2) + x3) + ...
inline Graph sum_of(int count) {
  Graph graph;
  ValueId sum = ValueId::none();
  for (int i = 0; i < count; ++i) {
    const ValueId x = *graph.add_input("x" + std::to_string(i), {DataType::f32, Shape{4}});
    sum = i == 0 ? x : *graph.add("Add", {sum, x});
  }
  EXPECT_TRUE(graph.add_output("sum", sum));
  return graph;
}

inline SaturationLimits unlimited() {
  SaturationLimits limits;
  limits.node_limit = 10'000'000;
  limits.iterations = 1000;
  limits.time_limit_seconds = 300;
  limits.match_limit = 0;
  return limits;
}

}  // namespace lemma::testing
