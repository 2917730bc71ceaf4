// The rules of partial equivalence match what models have, and give the same numbers there.

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "check/sampled_check.h"
#include "costmodel/graph_cost.h"
#include "ir/graph_text.h"
#include "rule_language/rule_database.h"
#include "search/neighborhood.h"

namespace lemma {
namespace {

const std::vector<Substitution>& partial_rules() {
  static const std::vector<Substitution> rules =
      *parse_substitutions(*read_text_file("rules/substitutions/partial.rules"), "partial.rules");
  return rules;
}

OperatorCosts costs() {
  return OperatorCosts(priced_by_roofline(*load_device("targets/devices/cpu.json")));
}

constexpr std::string_view graphs[] = {
    R"(graph "images"
  input %0 "x" : f32[4, 3, 5, 6]
  %1 = Clip{max=1.0, min=-1.0}(%0)
  input %2 "w" : f32[2, 3, 3, 3]
  %3 = Clip{max=1.0, min=-1.0}(%2)
  %4 = Conv{strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], group=1}(%1, %3)
  output "y" = %4
)",
    R"(graph "dilated"
  input %0 "x" : f32[2, 3, 6, 8]
  input %1 "w" : f32[2, 3, 3, 3]
  %2 = Conv{strides=[1, 1], pads=[3, 2, 3, 2], dilations=[3, 2], group=1}(%0, %1)
  output "y" = %2
)",
    R"(graph "sequences"
  input %0 "x" : f32[3, 4, 8]
  %1 = Clip{max=1.0, min=-1.0}(%0)
  input %2 "w" : f32[4, 2, 3]
  %3 = Clip{max=1.0, min=-1.0}(%2)
  %4 = Conv{strides=[1], pads=[1, 1], dilations=[1], group=2}(%1, %3)
  %5 = Conv{strides=[1], pads=[2, 2], dilations=[2], group=2}(%1, %3)
  output "y" = %4
  output "z" = %5
)",
    R"(graph "pointwise"
  input %0 "x" : f32[2, 3, 4, 6]
  input %1 "w" : f32[5, 3, 1, 1]
  %2 = Conv{strides=[2, 2], pads=[0, 0, 0, 0], dilations=[1, 1], group=1}(%0, %1)
  %3 = Conv{strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1], group=1}(%0, %1)
  output "y" = %2
  output "z" = %3
)",
    R"(graph "part"
  input %0 "x" : f32[2, 3, 9, 9]
  input %1 "w" : f32[2, 3, 3, 3]
  %2 = Conv{strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1], group=1}(%0, %1)
  %3 = Slice{axes=[2], ends=[5], starts=[2]}(%2)
  %4 = Slice{axes=[3], ends=[4], starts=[0]}(%2)
  output "y" = %3
  output "z" = %4
)"};

/// Each neighbor that the rules make of a graph equals it; the names of the rules that made one.
std::set<std::string> applied_rules(std::string_view text) {
  std::set<std::string> names;
  const auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  if (!graph) return names;
  for (const Substitution& rule : partial_rules()) {
    const auto compiled = compile_rules({{rule}});
    EXPECT_TRUE(compiled) << rule.name;
    if (!compiled) continue;
    const Neighborhood around = neighborhood(*graph, *compiled, costs(), 1e9, {});
    for (const auto& neighbor : around.neighbors) {
      const auto made = rewritten(*graph, compiled->front(), neighbor.rewrite);
      EXPECT_TRUE(made) << rule.name << ": " << made.error().message;
      if (!made) continue;
      names.insert(rule.name);
      const auto same = compare_on_random_inputs(*graph, *made, {});
      EXPECT_TRUE(same && same->passed)
          << rule.name << ": " << (same ? same->difference : same.error().message);
    }
  }
  return names;
}

TEST(PartialRules, MatchAndGiveTheSameNumbers) {
  std::set<std::string> names;
  for (const std::string_view text : graphs) names.merge(applied_rules(text));
  for (const char* name :
       {"images_beside_each_other_along_width", "images_beside_each_other_along_height",
        "images_beside_each_other_without_gap", "sequences_beside_each_other",
        "sequences_beside_each_other_without_gap", "tiles_of_columns_as_batch",
        "dilated_conv_as_dense", "dilated_conv_of_sequence_as_dense",
        "strided_pointwise_conv_of_picked", "pointwise_conv_as_matmul", "part_of_rows_of_conv",
        "part_of_columns_of_conv"})
    EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
}  // namespace lemma
