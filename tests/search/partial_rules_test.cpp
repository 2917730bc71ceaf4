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
)",
    R"(graph "biased"
  input %0 "x" : f32[2, 3, 6, 8]
  input %1 "w" : f32[2, 3, 3, 3]
  input %2 "b" : f32[2]
  %3 = Conv{strides=[1, 1], pads=[3, 2, 3, 2], dilations=[3, 2], group=1}(%0, %1, %2)
  output "y" = %3
)",
    R"(graph "kernels"
  input %0 "x" : f32[2, 3, 6, 7]
  %1 = Clip{max=1.0, min=-1.0}(%0)
  input %2 "w" : f32[2, 3, 5, 5]
  %3 = Clip{max=1.0, min=-1.0}(%2)
  %4 = Conv{strides=[1, 1], pads=[2, 1, 2, 0], dilations=[1, 1], group=1}(%1, %3)
  input %5 "v" : f32[2, 3, 3, 2]
  %6 = Conv{strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1], group=1}(%0, %5)
  input %7 "u" : f32[3, 2, 4, 4]
  %8 = Clip{max=1.0, min=-1.0}(%7)
  %9 = ConvTranspose{strides=[2, 2], pads=[1, 1, 1, 1], dilations=[1, 1], group=1}(%0, %8)
  output "y" = %4
  output "z" = %6
  output "t" = %9
)",
    R"(graph "volumes"
  input %0 "x" : f32[2, 4, 3, 4, 5]
  input %1 "w" : f32[2, 2, 3, 3, 3]
  %2 = Clip{max=1.0, min=-1.0}(%1)
  input %3 "b" : f32[2]
  %4 = Conv{strides=[1, 1, 1], pads=[1, 1, 0, 1, 1, 1], dilations=[1, 1, 1], group=2}(%0, %2)
  %5 = Conv{strides=[1, 1, 1], pads=[1, 1, 2, 1, 1, 0], dilations=[1, 1, 1], group=2}(%0, %2, %3)
  output "y" = %4
  output "z" = %5
)",
    // Six tokens that see three others each, every second of ten: rows of one more element make columns of diagonals.
    R"(graph "bands"
  input %0 "q" : f32[2, 6, 3]
  input %1 "k" : f32[2, 10, 3]
  %2 = Transpose{perm=[0, 2, 1]}(%1)
  %3 = MatMul(%0, %2)
  %4 = Reshape{shape=[2, 60]}(%3)
  %5 = Pad{mode="constant", pads=[0, 0, 0, 6], value=0.0}(%4)
  %6 = Reshape{shape=[2, 6, 11]}(%5)
  %7 = Slice{axes=[2], ends=[6], starts=[0]}(%6)
  %8 = Reshape{shape=[2, 6, 3, 2]}(%7)
  %9 = Slice{axes=[3], ends=[1], starts=[0]}(%8)
  input %10 "p" : f32[2, 6, 3]
  %11 = Reshape{shape=[2, 6, 3, 1]}(%10)
  %12 = Pad{mode="constant", pads=[0, 0, 0, 0, 0, 0, 0, 1], value=0.0}(%11)
  %13 = Reshape{shape=[2, 6, 6]}(%12)
  %14 = Pad{mode="constant", pads=[0, 0, 6, 0, 0, 5], value=0.0}(%13)
  %15 = Reshape{shape=[2, 102]}(%14)
  %16 = Slice{axes=[1], ends=[96], starts=[0]}(%15)
  %17 = Reshape{shape=[2, 6, 16]}(%16)
  %18 = Slice{axes=[2], ends=[16], starts=[6]}(%17)
  %19 = MatMul(%18, %1)
  output "scores" = %9
  output "mixed" = %19
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
  for (const char* name : {"images_beside_each_other_along_width",
                           "images_beside_each_other_along_height",
                           "images_beside_each_other_without_gap",
                           "sequences_beside_each_other",
                           "sequences_beside_each_other_without_gap",
                           "tiles_of_columns_as_batch",
                           "dilated_conv_as_dense",
                           "dilated_conv_of_sequence_as_dense",
                           "strided_pointwise_conv_of_picked",
                           "pointwise_conv_as_matmul",
                           "part_of_rows_of_conv",
                           "part_of_columns_of_conv",
                           "biased_dilated_conv_as_dense",
                           "kernel_of_five_as_tiles_of_three",
                           "conv_as_product_with_offset_add",
                           "conv_transpose_of_four_as_conv_of_phases",
                           "conv_of_volumes_as_convs_of_frames",
                           "biased_conv_of_volumes_as_convs_of_frames",
                           "band_of_product_with_step",
                           "band_with_step_times_matrix"})
    EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
}  // namespace lemma
