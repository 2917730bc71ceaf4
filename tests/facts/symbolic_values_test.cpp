// How models compute shapes from shapes, over symbolic sizes, as graphs.

#include "facts/symbolic_values.h"

#include <gtest/gtest.h>

#include "ir/graph_text.h"

namespace lemma {
namespace {

struct Chain {
  const char* name;
  const char* lines;     // after an input %x of type f32[N, 3, H, W]; the result is %r
  const char* elements;  // of %r; "unknown" if they are not all known
};

class SymbolicChains : public ::testing::TestWithParam<Chain> {};

TEST_P(SymbolicChains, are_evaluated) {
  const std::string text = "graph \"g\"\ninput %x \"x\" : f32[N, 3, H, W]\n" +
                           std::string(GetParam().lines) + "\noutput \"r\" = %r\n";
  const auto graph = parse_graph(text);
  ASSERT_TRUE(graph) << graph.error().message;
  SymbolicValues values;
  for (std::uint32_t i = 0; i < graph->node_count(); ++i) values.update(*graph, {i});
  const Shape* elements = values.find(graph->outputs().front().value);
  EXPECT_EQ(elements != nullptr ? lemma::text(*elements) : "unknown", GetParam().elements);
}

const Chain chains[] = {
    {"shape", "%r = Shape(%x)", "[N, 3, H, W]"},
    {"part_of_shape", "%r = Shape{start=1, end=-1}(%x)", "[3, H]"},
    {"constant", "%r = constant i64[3] [1, -1, 4]", "[1, -1, 4]"},
    {"gather_one", "%s = Shape(%x)\n%i = constant i64[] [2]\n%r = Gather(%s, %i)", "[H]"},
    {"gather_from_the_end", "%s = Shape(%x)\n%i = constant i64[1] [-1]\n%r = Gather(%s, %i)",
     "[W]"},
    {"gather_unknown_index", "input %i \"i\" : i64[1]\n%s = Shape(%x)\n%r = Gather(%s, %i)",
     "unknown"},
    {"flatten",
     "%s = Shape(%x)\n%i = constant i64[] [0]\n%n = Gather(%s, %i)\n"
     "%u = Unsqueeze{axes=[0]}(%n)\n%m = constant i64[1] [-1]\n%r = Concat{axis=0}(%u, %m)",
     "[N, -1]"},
    {"product_of_sizes",
     "%s = Shape(%x)\n%i = constant i64[] [2]\n%j = constant i64[] [3]\n%h = Gather(%s, %i)\n"
     "%w = Gather(%s, %j)\n%r = Mul(%h, %w)",
     "[H*W]"},
    {"half_of_a_size",
     "%s = Shape(%x)\n%i = constant i64[1] [2]\n%h = Gather(%s, %i)\n%two = constant i64[] [2]\n"
     "%r = Div(%h, %two)",
     "[floordiv(H, 2)]"},
    {"division_of_what_may_be_negative",
     "%s = Shape(%x)\n%i = constant i64[1] [2]\n%h = Gather(%s, %i)\n%two = constant i64[] [2]\n"
     "%d = Sub(%h, %two)\n%r = Div(%d, %two)",
     "unknown"},
    {"slice", "%s = Shape(%x)\n%r = Slice{axes=[0], starts=[2], ends=[9223372036854775807]}(%s)",
     "[H, W]"},
    {"slice_and_double",
     "%s = Shape(%x)\n%p = Slice{axes=[0], starts=[-2], ends=[4]}(%s)\n"
     "%two = constant i64[1] [2]\n%q = Mul(%p, %two)\n"
     "%c = Slice{axes=[0], starts=[0], ends=[2]}(%s)\n%r = Concat{axis=0}(%c, %q)",
     "[N, 3, 2*H, 2*W]"},
    {"cast_forth_and_back", "%s = Shape(%x)\n%a = Cast{to=i32}(%s)\n%r = Cast{to=i64}(%a)",
     "[N, 3, H, W]"},
    {"cast_to_real_is_not_followed", "%s = Shape(%x)\n%a = Cast{to=f32}(%s)\n%r = Cast{to=i64}(%a)",
     "unknown"},
    {"squeeze",
     "%s = Shape(%x)\n%i = constant i64[1] [0]\n%n = Gather(%s, %i)\n%r = Squeeze{axes=[0]}(%n)",
     "[N]"},
    {"number_of_elements", "%s = Shape(%x)\n%r = ReduceProd{keepdims=0}(%s)", "[3*H*N*W]"},
    {"size", "%r = Size(%x)", "[3*H*N*W]"},
    {"through_a_reshape", "%y = Reshape{shape=[N, 3*H, W]}(%x)\n%r = Shape(%y)", "[N, 3*H, W]"},
    {"choice_that_is_known",
     "%s = Shape(%x)\n%c = constant i64[4] [0, 0, 1, 1]\n%one = constant i64[] [1]\n"
     "%e = Equal(%c, %one)\n%r = Where(%e, %s, %c)",
     "[0, 0, H, W]"},
    {"choice_that_is_not_known",
     "%s = Shape(%x)\n%one = constant i64[] [1]\n%e = Equal(%s, %one)\n%r = Where(%e, %one, %s)",
     "unknown"},
    {"larger_of_two", "%s = Shape(%x)\n%one = constant i64[] [1]\n%r = Max(%s, %one)",
     "[max(1, N), 3, max(1, H), max(1, W)]"},
    {"i32_overflow_wraps_and_is_not_followed", "%a = constant i32[1] [1048576]\n%r = Mul(%a, %a)",
     "unknown"},
    {"u8_difference_below_zero_is_not_followed",
     "%a = constant u8[1] [3]\n%b = constant u8[1] [5]\n%r = Sub(%a, %b)", "unknown"},
    {"i64_overflow", "%a = constant i64[1] [9223372036854775807]\n%r = Add(%a, %a)", "unknown"},
    {"real_values", "%a = constant f32[1] [2]\n%r = Mul(%a, %a)", "unknown"},
    {"empty", "%a = constant i64[0] []\n%s = Shape(%x)\n%r = Concat{axis=0}(%a, %s)",
     "[N, 3, H, W]"},
};
INSTANTIATE_TEST_SUITE_P(Values, SymbolicChains, ::testing::ValuesIn(chains),
                         [](const auto& chain) { return std::string(chain.param.name); });

TEST(SymbolicValues, what_is_stated_of_an_input_is_used) {
  const auto graph = parse_graph(
      "graph \"g\"\ninput %s \"s\" : i64[2]\n%two = constant i64[] [2]\n%r = Mul(%s, %two)\n"
      "output \"r\" = %r");
  ASSERT_TRUE(graph) << graph.error().message;
  const ValueId result = graph->outputs().front().value;
  SymbolicValues values;
  for (std::uint32_t i = 0; i < graph->node_count(); ++i) values.update(*graph, {i});
  EXPECT_EQ(values.find(result), nullptr);
  values.set(graph->node(graph->inputs().front()).output(), {Dimension::symbol("A"), 3});
  for (std::uint32_t i = 0; i < graph->node_count(); ++i) values.update(*graph, {i});
  ASSERT_NE(values.find(result), nullptr);
  EXPECT_EQ(text(*values.find(result)), "[2*A, 6]");
}

TEST(SymbolicValues, large_tensors_are_not_looked_at) {
  Graph graph;
  const ValueId weights =
      graph.add_constant(Constant::of_integers(std::vector<std::int64_t>(100000, 1)));
  SymbolicValues values;
  values.update(graph, graph.producer(weights));
  EXPECT_EQ(values.find(weights), nullptr);
}

}  // namespace
}  // namespace lemma
