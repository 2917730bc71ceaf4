// Subgraphs of opaque nodes, and local functions.

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/subgraphs.h"
#include "tests/frontend_onnx/models.h"

namespace lemma::frontend {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr const char* with_if = R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
  g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}> {
    t = Neg(x)
    y = If (c) <then_branch = a () => (float[2] p) { u = Add(t, w)  p = Relu(u) },
                else_branch = b () => (float[2] q) { q = Mul(t, t) }>
  })";

TEST(Subgraphs, CapturedNames) {
  const auto message = parse_text(with_if);
  EXPECT_THAT(captured_names(message.graph().node(1)), ElementsAre("t", "w"));
  EXPECT_TRUE(captured_names(message.graph().node(0)).empty());
}

TEST(Subgraphs, CaptureOfANestedScope) {
  const auto message = parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x, bool c) => (float[2] y) {
      y = If (c) <then_branch = a () => (float[2] p) {
          inner = Neg(x)
          p = If (c) <then_branch = d () => (float[2] r) { r = Add(inner, x) },
                      else_branch = e () => (float[2] s) { s = Neg(inner) }> }>
    })");
  EXPECT_THAT(captured_names(message.graph().node(0)), ElementsAre("x", "c"));
}

TEST(Subgraphs, CapturedValuesAreInputsOfTheNode) {
  const auto model = import_text(with_if);
  ASSERT_TRUE(model) << error_of(model);
  for (const Node& node : model->graph.nodes())
    if (node.kind == NodeKind::opaque) {
      EXPECT_EQ(node.inputs.size(), 3U);  // c, t and w
    }
  EXPECT_EQ(exported(*model).graph().node(1).SerializeAsString(),
            parse_text(with_if).graph().node(1).SerializeAsString());
}

/// A copy of the graph in which `from` is replaced by `to` among the inputs of opaque nodes.
Graph with_replaced(const Graph& graph, const std::string& from, const std::string& to) {
  auto named = [&graph](const std::string& name) {
    for (std::uint32_t v = 0; v < graph.value_count(); ++v)
      if (graph.suggested_name({v}) == name) return ValueId{v};
    return ValueId::none();
  };
  const ValueId old_value = named(from);
  const ValueId new_value = named(to);
  Graph copy;
  copy.set_name(graph.name());
  std::vector<ValueId> map(graph.value_count());
  for (const Node& node : graph.nodes()) {
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs)
      inputs.push_back(node.kind == NodeKind::opaque && input == old_value ? map[new_value.v]
                                                                           : map[input.v]);
    ValueId first;
    switch (node.kind) {
      case NodeKind::input:
        first = *copy.add_input(graph.input_name(node), graph.type(node.output()));
        break;
      case NodeKind::constant: first = copy.add_constant(graph.constant(node)); break;
      case NodeKind::operation:
        first = copy.node(*copy.add_operation(node.op, inputs, node.attributes)).output();
        break;
      case NodeKind::opaque:
        first = copy.node(copy.add_opaque(graph.opaque(node), inputs, graph.output_types(node)))
                    .output();
        break;
    }
    map[node.first_output] = first;
    if (node.output() != old_value) copy.suggest_name(first, graph.suggested_name(node.output()));
  }
  for (const GraphOutput& output : graph.outputs())
    EXPECT_TRUE(copy.add_output(output.name, map[output.value.v]));
  return copy;
}

TEST(Subgraphs, CapturedNamesAreKeptWhenTheValueHasAnotherName) {
  const auto model = import_text(with_if);
  ASSERT_TRUE(model) << error_of(model);
  // As if an optimization had found that t equals x: the subgraphs still say "t".
  const OnnxModel changed{with_replaced(model->graph, "t", "x"), model->envelope};
  const auto out = exported(changed);
  EXPECT_THAT(lines_of(out), ElementsAre("t = Identity(x)", "y = If(c)"));
  EXPECT_TRUE(import_message(out));
}

TEST(Subgraphs, OneNameForTwoValuesIsSplit) {
  const auto model = import_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x, bool c) => (float[2] t, float[2] y) {
      t = Neg(x)
      y = If (c) <then_branch = a () => (float[2] p) { p = Relu(t) },
                  else_branch = b () => (float[2] q) { q = Mul(t, t) }>
    })");
  ASSERT_TRUE(model) << error_of(model);
  // Now "t" must stay the output, while the subgraph means x by it.
  const OnnxModel changed{with_replaced(model->graph, "t", "x"), model->envelope};
  const auto out = exported(changed);
  EXPECT_THAT(lines_of(out), Contains("t = Neg(x)"));
  const auto again = import_message(out);
  ASSERT_TRUE(again) << error_of(again);
  for (const auto& node : out.graph().node())
    if (node.op_type() == "If") {
      EXPECT_THAT(captured_names(node), Not(Contains("t")));
    }
}

TEST(Subgraphs, NewNamesKeepAwayFromInnerOnes) {
  auto message = parse_text(with_if);
  const auto model = import_message(message);
  ASSERT_TRUE(model) << error_of(model);
  std::set<std::string> inner;
  collect_inner_names(message.graph().node(1), inner);
  EXPECT_THAT(inner, Contains("u"));
  EXPECT_THAT(inner, Contains("q"));
}

// ---- Branches that a constant decides -----------------------------------------------------------

/// A model with an If; its name of the condition is that of an initializer or of an input.
std::string branching(const std::string& condition, bool value) {
  return R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x, bool given) => (float[2] y) <bool fixed = {)" +
         std::string(value ? "1" : "0") + R"(}> {
      a = Tanh(x)
      b = If ()" +
         condition + R"() <
        then_branch = one () => (float[2] r) <float[2] k = {1, 2}> { t = Mul(a, k) r = Exp(t) },
        else_branch = two () => (float[2] s) { t = Neg(x) s = Relu(t) }>
      y = Sigmoid(b)
    })";
}

TEST(Branches, ThatAConstantTakesAreInTheGraph) {
  const auto taken = import_text(branching("fixed", true));
  ASSERT_TRUE(taken) << error_of(taken);
  EXPECT_THAT(kinds_of(taken->graph),
              UnorderedElementsAre("input", "input", "constant", "Tanh", "Mul", "Exp", "Sigmoid"));
  const auto other = import_text(branching("fixed", false));
  ASSERT_TRUE(other) << error_of(other);
  EXPECT_THAT(kinds_of(other->graph),
              UnorderedElementsAre("input", "input", "Neg", "Relu", "Sigmoid"));
  EXPECT_EQ(exported(*other).graph().node_size(), 3);
}

TEST(Branches, ThatAnInputTakesStay) {
  const auto model = import_text(branching("given", true));
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), Contains("opaque If"));
}

// ---- Scans --------------------------------------------------------------------------------------

/// Sums of rows, from the last one to the first one.
std::string scanning(const std::string& rows) {
  return R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] start, float[)" +
         rows + R"(, 2] x) => (float[2] last, float[2, R] all) {
      last, all = Scan <num_scan_inputs: int = 1, scan_input_directions: ints = [1],
                        scan_output_axes: ints = [-1],
                        body: graph = step (float[2] before, float[2] row)
                                      => (float[2] after, float[2] shown) {
                          after = Add(before, row)
                          shown = Neg(after) }> (start, x)
    })";
}

TEST(Scans, OfKnownStepsAreInTheGraph) {
  const auto model = import_text(scanning("3"));
  ASSERT_TRUE(model) << error_of(model);
  const auto kinds = kinds_of(model->graph);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "Add"), 3);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "Neg"), 3);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "Concat"), 1);
  EXPECT_THAT(kinds, Not(Contains("opaque Scan")));
  EXPECT_EQ(text(model->graph.type(model->graph.outputs()[1].value)), "f32[2, 3]");
}

TEST(Scans, OfManyOrUnknownStepsStay) {
  for (const auto* rows : {"N", "1000", "0"}) {
    const auto model = import_text(scanning(rows));
    ASSERT_TRUE(model) << error_of(model);
    EXPECT_THAT(kinds_of(model->graph), Contains("opaque Scan")) << rows;
  }
}

TEST(Scans, OfWhatIsNotUnderstoodStay) {
  std::string text = scanning("3");
  text.replace(text.find("Neg(after)"), 10, "Unknown(after)");
  const auto model = import_text(text);
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), Contains("opaque Scan"));
  EXPECT_EQ(exported(*model).graph().node_size(), 1);
}

TEST(Scans, InsideEachOtherBecomeNoMoreThanALimit) {
  // 16^5 nodes if all were unrolled.
  std::string body = "o = Neg(r)";
  std::string type = "float";
  for (int depth = 0; depth < 5; ++depth) {
    const std::string outer = type == "float" ? "float[16]" : "float[16, " + type.substr(6);
    body = "o = Scan <num_scan_inputs: int = 1, body: graph = step (" + type + " r) => (" + type +
           " o) { " + body + " }> (r)";
    type = outer;
  }
  body.replace(body.rfind("(r)"), 3, "(x)");
  body.replace(0, 1, "y");
  const auto model = import_text(R"(<ir_version: 8, opset_import: ["" : 13]> g ()" + type +
                                 " x) => (" + type + " y) { " + body + " }");
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_LT(model->graph.nodes().size(), 10'000U);
}

// ---- Functions ----------------------------------------------------------------------------------

constexpr const char* with_functions = R"(
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[2] x) => (float[2] y) {
  t = local.twice <slope = 0.25> (x)
  y = local.twice (t)
}
<domain: "local", opset_import: ["" : 17, "local" : 1]>
twice <slope> (a) => (b) {
  m = local.leak <alpha: float = @slope> (a)
  b = local.leak <alpha: float = @slope> (m)
}
<domain: "local", opset_import: ["" : 17]>
leak <alpha> (a) => (b) { n = Neg(a)  b = LeakyRelu <alpha: float = @alpha> (n) }
)";

TEST(Functions, AreInlined) {
  const auto out = round_trip(with_functions);
  EXPECT_EQ(out.functions_size(), 0);
  std::vector<float> slopes;
  for (const auto& node : out.graph().node()) {
    EXPECT_THAT(node.op_type(), ::testing::AnyOf("Neg", "LeakyRelu"));
    if (node.op_type() != "LeakyRelu") continue;
    for (const auto& attribute : node.attribute())
      if (attribute.name() == "alpha") slopes.push_back(attribute.f());
  }
  EXPECT_EQ(out.graph().node_size(), 8);
  ASSERT_GE(slopes.size(), 2U);
  EXPECT_EQ(slopes[0], 0.25F);  // given by the caller, through two calls
  EXPECT_EQ(slopes[1], 0.25F);
  for (std::size_t i = 2; i < slopes.size(); ++i)
    EXPECT_EQ(slopes[i], 0.01F);  // the operator's own
}

// ONNX Runtime refuses two nodes of one name.
TEST(Functions, CalledTwiceGiveNodesOfDifferentNames) {
  auto message = parse_text(with_functions);
  for (auto& function : *message.mutable_functions())
    for (auto& node : *function.mutable_node()) node.set_name("in " + function.name());
  const auto model = import_message(message);
  ASSERT_TRUE(model) << error_of(model);
  const auto out = exported(*model);
  std::set<std::string> names;
  for (const auto& node : out.graph().node()) names.insert(node.name());
  EXPECT_EQ(names.size(), 8U);
  EXPECT_THAT(names, Contains("in leak"));
}

TEST(Functions, OfOtherOperatorSetsStayCalls) {
  std::string text = with_functions;
  text.replace(text.rfind("17"), 2, "13");
  const auto model = import_text(text);
  ASSERT_TRUE(model) << error_of(model);
  const auto out = exported(*model);
  EXPECT_THAT(kinds_of(model->graph), Contains("opaque leak"));
  ASSERT_EQ(out.functions_size(), 1);
  EXPECT_EQ(out.functions(0).name(), "leak");
  EXPECT_EQ(out.functions(0).opset_import(0).version(), 13);
}

TEST(Functions, CalledFromSubgraphsStay) {
  const auto out = round_trip(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x, bool c) => (float[2] y) {
      y = If (c) <then_branch = a () => (float[2] p) { p = local.f(x) },
                  else_branch = b () => (float[2] q) { q = Neg(x) }>
    }
    <domain: "local", opset_import: ["" : 17, "local" : 1]>
    f (a) => (b) { b = local.h(a) }
    <domain: "local", opset_import: ["" : 17]>
    h (a) => (b) { b = Relu(a) }
    <domain: "local", opset_import: ["" : 17]>
    unused (a) => (b) { b = Relu(a) })");
  ASSERT_EQ(out.functions_size(), 2);
  EXPECT_EQ(out.functions(0).name(), "f");
  EXPECT_EQ(out.functions(1).name(), "h");
}

TEST(Functions, WithSubgraphsAreRenamedInside) {
  const auto out = round_trip(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] p, bool a) => (float[2] y, float[2] z) {
      y = local.choose(p, a)
      z = local.choose(y, a)
    }
    <domain: "local", opset_import: ["" : 17]>
    choose (v, c) => (r) {
      n = Neg(v)
      r = If (c) <then_branch = a () => (float[2] p) { p = Add(n, v) },
                  else_branch = b () => (float[2] q) { q = Neg(v) }>
    })");
  ASSERT_EQ(out.graph().node_size(), 4);
  const auto captured = captured_names(out.graph().node(1));
  // The body's own "p" must not hide the caller's "p", which the body uses.
  EXPECT_THAT(captured, ElementsAre(out.graph().node(0).output(0), "p"));
  EXPECT_THAT(captured_names(out.graph().node(3)), ElementsAre(out.graph().node(2).output(0), "y"));
}

TEST(Functions, ThatPassAnInputThrough) {
  const auto out = round_trip(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y, float[2] z) { y, z = local.both(x) }
    <domain: "local", opset_import: ["" : 17]>
    both (a) => (b, a) { b = Neg(a) })");
  EXPECT_THAT(lines_of(out), ElementsAre("y = Neg(x)", "z = Identity(x)"));
}

TEST(Functions, ThatCallThemselvesAreRefused) {
  const auto model = import_text(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y) { y = local.f(x) }
    <domain: "local", opset_import: ["" : 17, "local" : 1]>
    f (a) => (b) { b = local.h(a) }
    <domain: "local", opset_import: ["" : 17, "local" : 1]>
    h (a) => (b) { b = local.f(a) })");
  EXPECT_THAT(error_of(model), HasSubstr("function 'local.f' calls itself"));
}

TEST(Functions, ExpansionIsLimited) {
  std::string text = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y) { y = local.f0(x) })";
  for (int i = 0; i < 40; ++i)  // 2^40 nodes
    text += "<domain: \"local\", opset_import: [\"\" : 17, \"local\" : 1]> f" + std::to_string(i) +
            " (a) => (b) { m = local.f" + std::to_string(i + 1) + "(a) b = local.f" +
            std::to_string(i + 1) + "(m) }\n";
  text += R"(<domain: "local", opset_import: ["" : 17]> f40 (a) => (b) { b = Neg(a) })";
  ImportOptions options;
  options.inlined_node_limit = 10'000;
  EXPECT_THAT(error_of(import_text(text, options)), HasSubstr("more than 10000 nodes"));
}

TEST(Functions, ErrorsNameTheFunction) {
  EXPECT_THAT(
      error_of(import_text(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y) { y = local.f(x) }
    <domain: "local", opset_import: ["" : 17]>
    f (a) => (b) { b = Neg(lost) })")),
      ::testing::AllOf(HasSubstr("function 'local.f'"), HasSubstr("'lost' is not defined")));
}

}  // namespace
}  // namespace lemma::frontend
