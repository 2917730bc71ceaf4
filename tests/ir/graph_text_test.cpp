// The textual form of graphs: what is printed reads back and prints the same; what is malformed is
// refused, with its line.

#include "ir/graph_text.h"

#include <bit>
#include <cmath>
#include <iostream>

#include <gtest/gtest.h>

#include "ir/check.h"
#include "tests/ir/random_graph.h"

namespace lemma {
namespace {

using testing::RandomGraph;

TEST(GraphText, random_graphs_read_back_and_print_the_same) {
  constexpr std::uint64_t seed = 7;
  std::cout << "seed " << seed << '\n';
  RandomGraph random(seed);
  for (int i = 0; i < 400; ++i) {
    const Graph graph = random.make(60);
    for (const bool dead_nodes : {false, true}) {
      const GraphTextOptions options{.inline_constant_bytes = 1 << 20, .dead_nodes = dead_nodes};
      const std::string printed = print_graph(graph, options);
      const auto read = parse_graph(printed);
      ASSERT_TRUE(read) << read.error().message << '\n' << printed;
      ASSERT_EQ(print_graph(*read, options), printed);
      EXPECT_EQ(read->name(), graph.name());
      EXPECT_EQ(read->inputs().size(), graph.inputs().size());
      const auto checked = check(*read, Stage::imported);
      ASSERT_TRUE(checked) << checked.error().message << '\n' << printed;
    }
  }
  EXPECT_GT(random.accepted(), 2000U);
}

TEST(GraphText, damaged_text_never_crashes) {
  RandomGraph random(11);
  int readable = 0;
  for (int i = 0; i < 150; ++i) {
    const std::string printed = print_graph(random.make(20), {.inline_constant_bytes = 1000});
    for (int j = 0; j < 40; ++j) {
      std::string damaged = printed;
      const auto where = static_cast<std::size_t>(
          random.integer(0, static_cast<std::int64_t>(printed.size()) - 1));
      const auto length = static_cast<std::size_t>(random.integer(0, 6));
      damaged.replace(where, length, random.string());
      const auto read = parse_graph(damaged);
      readable += read ? 1 : 0;
      if (!read) {
        EXPECT_EQ(read.error().kind == ErrorKind::internal, false) << read.error().message;
      }
    }
  }
  EXPECT_GT(readable, 0);
}

TEST(GraphText, single_precision_numbers_read_back_exactly) {
  RandomGraph random(3);
  std::vector<float> values = {0.F, -0.F, 0x1p-149F, -0x1.fffffep127F, 0.1F, 16777216.F};
  while (values.size() < 20000) {
    const auto value =
        std::bit_cast<float>(static_cast<std::uint32_t>(random.integer(0, 0xffffffff)));
    if (std::isfinite(value)) values.push_back(value);
  }
  const Constant constant =
      Constant::of(DataType::f32, {static_cast<std::int64_t>(values.size())}, values);
  Graph graph;
  ASSERT_TRUE(graph.add_output("y", graph.add_constant(constant)));
  const auto read = parse_graph(print_graph(graph, {.inline_constant_bytes = 1 << 20}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read->constant_of(read->outputs().front().value), constant);
}

constexpr std::string_view example = R"(graph "example"
  input %0 "x" : f32[N, 4]
  %1 = constant f32[4, 2] [1, 2.5, -0, 1e-20, 0, 3, 4, 5]
  %2 = MatMul(%0, %1) : f32[N, 2]
  %3 = Reshape{shape=[2, N]}(%2) : f32[2, N]
  %4, %5 = opaque "com.example" "Widget" "\x00\xff" "no record" (%3, none) : f32[?], undefined[?]
  output "y" = %4
)";

TEST(GraphText, prints_as_documented) {
  const auto graph = parse_graph(example);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(print_graph(*graph), example);
}

TEST(GraphText, comments_and_other_names_and_missing_types_are_read) {
  const auto graph = parse_graph(
      "# a comment\n\ngraph \"g\"\ninput %left \"x\" : f32[2]\n  # another\n"
      "   %sum = Relu( %left )\noutput \"y\" = %sum");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(print_graph(*graph),
            "graph \"g\"\n  input %0 \"x\" : f32[2]\n  %1 = Relu(%0) : f32[2]\n"
            "  output \"y\" = %1\n");
}

TEST(GraphText, large_constants_are_digests_that_a_resolver_finds) {
  const Constant weights = Constant::of(DataType::f32, {20}, std::vector<float>(20, 1.5F));
  Graph graph;
  ASSERT_TRUE(graph.add_output("y", graph.add_constant(weights)));
  const std::string printed = print_graph(graph);
  EXPECT_NE(printed.find("digest "), std::string::npos);
  EXPECT_EQ(parse_graph(printed).error().message,
            "line 2: the constant is given by digest, and its contents are not here");
  const auto read =
      parse_graph(printed, [&](const TensorType& type, std::uint64_t digest) -> Result<Constant> {
        EXPECT_EQ(type, weights.type());
        EXPECT_EQ(digest, weights.digest());
        return weights;
      });
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(print_graph(*read), printed);
}

struct Malformed {
  std::string line;  // the third, after the graph's name and an input %0 of type f32[N, 4]
  std::string message;

  friend void PrintTo(const Malformed& malformed, std::ostream* stream) {
    *stream << malformed.line;
  }
};

class GraphTextErrors : public ::testing::TestWithParam<Malformed> {};

TEST_P(GraphTextErrors, name_the_line) {
  const std::string text = "graph \"g\"\n  input %0 \"x\" : f32[N, 4]\n" + GetParam().line + "\n";
  const auto graph = parse_graph(text);
  ASSERT_FALSE(graph) << print_graph(*graph);
  EXPECT_EQ(graph.error().message, "line 3: " + GetParam().message);
  EXPECT_NE(graph.error().kind, ErrorKind::internal);
}

const Malformed malformed[] = {
    {"graph \"again\"", "a second graph begins"},
    {"input %0 \"z\" : f32[]", "%0 is defined twice"},
    {"input %1 \"x\" : f32[]", "two graph inputs are named 'x'"},
    {"input %1 \"z : f32[]", "a quoted string has no end"},
    {"input %1 z : f32[]", "expected a quoted string"},
    {"input %1 \"\\q\" : f32[]", "a quoted string is malformed"},
    {"input %1 \"z\"", "expected ':' before ''"},
    {"input %1 \"z\" : f33[]", "unknown element type 'f33'"},
    {"input %1 \"z\" : f32", "expected a type such as f32[2, N]"},
    {"input %1 \"z\" : f32[2,]", "dimension '': expected a dimension at column 1"},
    {"input %1 \"z\" : f32[-1]", "graph input 'z' cannot have the type f32[-1]"},
    {"input %1 \"z\" : f32[2] more", "unexpected 'more'"},
    {"input % \"z\" : f32[]", "expected a value name after '%'"},
    {"output \"y\" = %7", "%7 is not defined"},
    {"output \"y\" = none", "an output cannot be none"},
    {"output \"y\" %0", "expected '=' before '%0'"},
    {"%1 = Widget(%0)",
     "there is no operator 'Widget'; one of a library is known with --operators FILE"},
    {"%1 = Relu(%0", "expected ')' before ''"},
    {"%1 = Relu(%2)", "%2 is not defined"},
    {"%1 = Relu(none)", "Relu: 0 inputs are given, but 1 to 1 are allowed"},
    {"%1 = Relu{alpha=1}(%0)", "Relu has no attribute 'alpha'"},
    {"%1 = Relu(%0) : f32[4, N]", "the type stated for %1 is not what Relu gives: f32[N, 4]"},
    {"%1 = ReduceSum{axes=[7]}(%0)", "ReduceSum: axes 7 is out of range for 2 axes"},
    {"%1 = ReduceSum{axes=[x]}(%0)", "'[x]' is not of kind integers"},
    {"%1 = ReduceSum{axes=[1](%0)", "'[1](%0)' is not of kind integers"},
    {"%1 = ReduceSum{axes=[1]", "expected '}' before ''"},
    {"%1 = Reshape(%0)", "Reshape: attribute 'shape' is missing"},
    {"%1 = MatMul(%0, %0)", "MatMul: whether inner sizes are 4 or N is not known"},
    {"%1 = constant f32[2] [1]", "f32[2] needs 8 bytes of data, but 4 are there"},
    {"%1 = constant f32[N] [1]", "a constant needs a fixed shape, not f32[N]"},
    {"%1 = constant f32[-1] []", "negative size in the shape f32[-1]"},
    {"%1 = constant f32[2] [1, x]", "'[1, x]' is not of kind reals"},
    {"%1 = constant f16[1] [1]", "constants of this type are written as hex"},
    {"%1 = constant f16[1] hex 3c0", "an odd number of hexadecimal digits"},
    {"%1 = constant f16[1] hex 3cxy", "not a hexadecimal digit"},
    {"%1 = constant f16[1] digest xyz", "a digest is 16 hexadecimal digits"},
    {"%1 = constant string[1] hex 00", "constant of type string[1]"},
    {"%1 = constant f32[?] [1]", "a constant needs a fixed shape, not f32[?]"},
    {"%1, %2 = constant f32[] [1]", "a constant is one value"},
    {"%1 = constant i64[9223372036854775807] []", "the shape i64[9223372036854775807] overflows"},
    {"%1 = constant u8[1] [256]", "256 does not fit u8"},
    {"%1 = constant i8[2] [-128, 128]", "128 does not fit i8"},
    {"%1 = constant bool[1] [-1]", "-1 does not fit bool"},
    {"%1, %2 = Relu(%0)", "Relu: 2 outputs are asked for, but 1 to 1 are allowed"},
    {"%1, %2 = opaque \"\" \"W\" \"\" \"\" () : f32[]", "one type for each output is needed"},
    {"%1 = opaque \"\" \"W\" \"\" () : f32[]", "expected a quoted string"},
    {"nonsense", "expected '%' before 'nonsense'"},
};
INSTANTIATE_TEST_SUITE_P(Lines, GraphTextErrors, ::testing::ValuesIn(malformed));

TEST(GraphText, text_without_a_graph_is_refused) {
  EXPECT_EQ(parse_graph("").error().message, "the text has no line 'graph \"NAME\"'");
  EXPECT_EQ(parse_graph("\n# nothing\n").error().message, "the text has no line 'graph \"NAME\"'");
  EXPECT_EQ(parse_graph("\n\n  input %0 \"x\" : f32[]").error().message,
            "line 3: expected 'graph \"NAME\"' first");
}

TEST(TensorType, text_reads_back) {
  RandomGraph random(5);
  for (int i = 0; i < 1000; ++i) {
    TensorType type{static_cast<DataType>(random.integer(0, data_type_count - 1)), random.shape()};
    if (random.integer(0, 5) == 0) type.shape.reset();
    const auto read = parse_tensor_type(text(type));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, type);
  }
}

}  // namespace
}  // namespace lemma
