// Passes of the compiler, as text before and after.

#include "backend/compile/passes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/lower/computation_text.h"
#include "ir/graph_text.h"

namespace lemma::backend {
namespace {

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return std::move(*graph);
}

/// What the passes of a graph, and then those of its computations, are told to make, by name.
using Results = std::vector<std::pair<std::string, std::string>>;
Results results_of(std::string_view graph, CompileOptions options = {},
                   ReadBy by = ReadBy::vectors) {
  Results results;
  options.observer = [&results](std::string_view pass, const std::string& text) {
    results.emplace_back(pass, text);
  };
  auto computations = lowered(parsed(graph), options.observer);
  EXPECT_TRUE(computations) << computations.error().message;
  const auto laid = laid_out(std::move(*computations), options, by);
  EXPECT_TRUE(laid) << laid.error().message;
  return results;
}

std::string result_of(const Results& results, std::string_view pass) {
  for (const auto& [name, text] : results)
    if (name == pass) return text;
  return "";
}

constexpr std::string_view two_functions = R"(graph "functions"
  input %0 "x" : f32[4, 8]
  %1 = Exp(%0) : f32[4, 8]
  %2 = Neg(%1) : f32[4, 8]
  output "y" = %2
)";

TEST(Passes, RunInTheOrderOfTheirLists) {
  std::vector<std::string> names;
  for (const auto& [name, text] : results_of(two_functions)) names.push_back(name);
  const std::vector<std::string> expected = {
      "expand_composites",    "join_products",    "lower_graph",   "fold_factors",
      "separate_algorithms",  "split_by_stride",  "store_padding", "pair_integers",
      "narrow_whole_numbers", "store_windows",    "widen_rows",    "fuse",
      "split_attention",      "split_reductions", "turn_weights"};
  EXPECT_EQ(names, expected);  // windows are tiled only where options ask for it
}

TEST(Passes, FuseTakesADefinitionIntoItsReader) {
  const Results results = results_of(two_functions);
  EXPECT_EQ(result_of(results, "widen_rows"), R"(buffers
  %0 "x" : f32[4, 8] input
  %1 "value 1" : f32[4, 8] arena
  %2 "y" : f32[4, 8] output
computations
  0: %1 "value 1" = Exp(%0)
       y[i0, i1] = exp(a[i0, i1])
  1: %2 "value 2" = Neg(%1)
       y[i0, i1] = -a[i0, i1]
outputs: %2
)");
  EXPECT_EQ(result_of(results, "fuse"), R"(buffers
  %0 "x" : f32[4, 8] input
  %1 "y" : f32[4, 8] output
computations
  0: %1 "value 2" = Exp + Neg(none, %0)
       y[i0, i1] = -exp(b[i0, i1])
outputs: %1
)");
}

TEST(Passes, StorePaddingTakesGuardsOutOfWindows) {
  const Results results = results_of(R"(graph "window"
  input %0 "x" : f32[1, 1, 4, 5]
  %1 = constant f32[1, 1, 3, 1] [1, 2.5, -1]
  %2 = Conv{pads=[1, 0, 1, 0]}(%0, %1) : f32[1, 1, 4, 5]
  output "y" = %2
)");
  EXPECT_EQ(result_of(results, "lower_graph"), R"(buffers
  %0 "x" : f32[1, 1, 4, 5] input
  %1 "value 1" : f32[1, 1, 3, 1] weights digest 6314a4019bc0b5fe
  %2 "y" : f32[1, 1, 4, 5] output
computations
  0: %2 "value 2" = Conv(%0, %1)
       y[i0, i1, i2, i3] = sum(k0 < 3: select(0 <= i2 + k0 - 1 and i2 + k0 - 1 < 4, a[i0, 0, i2 + k0 - 1, i3] * b[i1, 0, k0, 0], 0))
outputs: %2
)");
  EXPECT_EQ(result_of(results, "store_padding"), R"(buffers
  %0 "x" : f32[1, 1, 4, 5] input
  %1 "value 1" : f32[1, 1, 3, 1] weights digest 6314a4019bc0b5fe
  %2 "y" : f32[1, 1, 4, 5] output
  %3 "x with padding" : f32[1, 1, 6, 5] arena
computations
  0: %3 "x with padding" = padding(%0)
       y[i0, i1, i2, i3] = select(0 <= i2 + -1 and i2 + -1 < 4, a[i0, i1, i2 + -1, i3], 0)
  1: %2 "value 2" = Conv(none, %1, %3)
       y[i0, i1, i2, i3] = sum(k0 < 3: c[i0, 0, i2 + k0 - 1 - -1, i3] * b[i1, 0, k0, 0])
outputs: %2
)");
}

/// One row of queries for each of two heads, and as many columns as there are.
std::string attention_text(int heads, int columns) {
  return fmt::format(R"(graph "attention"
  input %0 "q" : f32[{0}, 1, 16]
  input %1 "k" : f32[{0}, 16, {1}]
  input %2 "v" : f32[{0}, {1}, 8]
  %3 = MatMul(%0, %1) : f32[{0}, 1, {1}]
  %4 = Softmax{{axis=2}}(%3) : f32[{0}, 1, {1}]
  %5 = MatMul(%4, %2) : f32[{0}, 1, 8]
  output "y" = %5
)",
                     heads, columns);
}

CompileOptions options_of_units(unsigned units) {
  CompileOptions options;
  options.device.units = units;
  options.device.multiprocessor = Multiprocessor{};
  return options;
}

TEST(Passes, SplitAttentionMakesPartsOfTheColumnsOfFewRows) {
  const Results results = results_of(attention_text(2, 256), options_of_units(8), ReadBy::lanes);
  EXPECT_EQ(result_of(results, "split_attention"), R"text(buffers
  %0 "q" : f32[2, 1, 16] input
  %1 "k" : f32[2, 16, 256] input
  %2 "v" : f32[2, 256, 8] input
  %3 "y" : f32[2, 1, 8] output
  %4 "value 3 (parts)" : f32[4, 2, 1, 64] arena
  %5 "value 4 (parts)" : f32[4, 2, 1, 1] arena
  %6 "value 6 (parts)" : f32[4, 2, 1, 64] arena
  %7 "value 7 (parts)" : f32[4, 2, 1, 1] arena
  %8 "value 9 (parts)" : f32[4, 2, 1, 8] arena
computations
  0: %4 "value 3 (parts)" = MatMul(%0, %1)
       y[i0, i1, i2, i3] = sum(k0 < 16: a[i1, i2, k0] * b[i1, k0, i0 * 64 + i3])
  1: %5 "value 4 (parts)" = ReduceMax(%4)
       y[i0, i1, i2, i3] = max(k0 < 64: a[i0, i1, i2, k0])
  2: %6 "value 6 (parts)" = Sub + Exp(none, %4, %5)
       y[i0, i1, i2, i3] = exp(b[i0, i1, 0, i3] - max(c[i0, i1, 0, 0], -3e+38))
  3: %7 "value 7 (parts)" = ReduceSum(%6)
       y[i0, i1, i2, i3] = sum(k0 < 64: a[i0, i1, i2, k0])
  4: %8 "value 9 (parts)" = MatMul(%6, %2)
       y[i0, i1, i2, i3] = sum(k0 < 64: a[i0, i1, i2, k0] * b[i1, i0 * 64 + k0, i3])
  5: %3 "value 9" = MatMul(none, none, %8, %5, %7)
       y[i0, i1, i2] = sum(k2 < 4: exp(d[k2, i0, i1, 0] - max(k0 < 4: d[k0, i0, i1, 0])) * c[k2, i0, i1, i2]) / sum(k1 < 4: exp(d[k1, i0, i1, 0] - max(k0 < 4: d[k0, i0, i1, 0])) * e[k1, i0, i1, 0])
outputs: %3
)text");
}

TEST(Passes, SplitAttentionLeavesRowsThatFillTheUnitsAndFewColumns) {
  const auto has_parts = [](int heads, int columns, unsigned units) {
    const Results results =
        results_of(attention_text(heads, columns), options_of_units(units), ReadBy::lanes);
    return result_of(results, "split_attention").find("(parts)") != std::string::npos;
  };
  EXPECT_TRUE(has_parts(2, 256, 8));
  EXPECT_FALSE(has_parts(8, 256, 8));
  EXPECT_FALSE(has_parts(2, 127, 8));
  EXPECT_FALSE(has_parts(2, 257, 8));  // which no number of parts divides
}

TEST(Passes, JoinProductsMultipliesAllRowsAtOnce) {
  const Results results = results_of(R"(graph "steps"
  input %0 "x" : f32[2, 4]
  %1 = constant f32[4, 2] [1, 2, 3, 4, 5, 6, 7, 8]
  %2 = Slice{axes=[0], ends=[1], starts=[0]}(%0) : f32[1, 4]
  %3 = Slice{axes=[0], ends=[2], starts=[1]}(%0) : f32[1, 4]
  %4 = MatMul(%2, %1) : f32[1, 2]
  %5 = MatMul(%3, %1) : f32[1, 2]
  output "a" = %4
  output "b" = %5
)");
  EXPECT_EQ(result_of(results, "join_products"), R"(graph "steps"
  input %0 "x" : f32[2, 4]
  %1 = constant f32[4, 2] [1, 2, 3, 4, 5, 6, 7, 8]
  %2 = MatMul(%0, %1) : f32[2, 2]
  %3 = Slice{axes=[0], ends=[1], starts=[0], steps=[1]}(%2) : f32[1, 2]
  %4 = Slice{axes=[0], ends=[2], starts=[1], steps=[1]}(%2) : f32[1, 2]
  output "a" = %3
  output "b" = %4
)");
}

}  // namespace
}  // namespace lemma::backend
