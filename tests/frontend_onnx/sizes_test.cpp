// Symbolic sizes: what import makes of them, and the nodes that compute them in the exported file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/size_nodes.h"
#include "ir/graph_text.h"
#include "tests/frontend_onnx/models.h"

namespace lemma::frontend {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TensorType type_of_input(const Graph& graph, std::size_t i) {
  return graph.type(graph.node(graph.inputs()[i]).output());
}
TensorType type_of_output(const Graph& graph, std::size_t i) {
  return graph.type(graph.outputs()[i].value);
}

TEST(Sizes, NamedOnesAreSymbolsAndUnnamedOnesGetTheirOwn) {
  const auto model = import_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[N, ?, 3] x, float[N, ?] v) => (float[N] y) { y = custom.Use(x, v) })");
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_EQ(text(type_of_input(model->graph, 0)), "f32[N, x_1, 3]");
  EXPECT_EQ(text(type_of_input(model->graph, 1)), "f32[N, v_1]");
  const auto out = exported(*model);
  const auto& shape = out.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "N");
  EXPECT_FALSE(shape.dim(1).has_dim_param());
  EXPECT_EQ(shape.dim(2).dim_value(), 3);
}

TEST(Sizes, NamesThatAreNoWordsComeOutAsTheyWere) {
  auto message = parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[A, B] x) => (float[A, B] y) { y = Relu(x) })");
  auto& shape = *message.mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  shape.mutable_dim(0)->set_dim_param("batch size");
  shape.mutable_dim(1)->set_dim_param("batch_size");
  const auto model = import_message(message);
  ASSERT_TRUE(model) << error_of(model);
  const auto type = type_of_input(model->graph, 0);
  EXPECT_NE((*type.shape)[0], (*type.shape)[1]);
  const auto out = exported(*model);
  EXPECT_EQ(out.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "batch size");
  EXPECT_EQ(out.graph().input(0).type().tensor_type().shape().dim(1).dim_param(), "batch_size");
}

TEST(Sizes, QuestionMarksAreNoNames) {
  auto message = parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[A, B] x) => (float[A, B] y) { y = Relu(x) })");
  for (auto& size : *message.mutable_graph()
                         ->mutable_input(0)
                         ->mutable_type()
                         ->mutable_tensor_type()
                         ->mutable_shape()
                         ->mutable_dim())
    size.set_dim_param("?");
  const auto model = import_message(message);
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_EQ(text(type_of_input(model->graph, 0)), "f32[x_0, x_1]");
}

constexpr const char* with_reshape = R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
  g (float[N, C, 6] x) => (float[?, ?] y)
  <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}> {
    s = Shape(x)
    n = Gather <axis = 0> (s, zero)
    c = Gather <axis = 0> (s, one)
    nc = Mul(n, c)
    rows = Mul(nc, two)
    target = Concat <axis = 0> (rows, three)
    y = Reshape(x, target)
  })";

TEST(Sizes, ShapeArithmeticBecomesAnAttribute) {
  const auto model = import_text(with_reshape);
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), ElementsAre("input", "Reshape"));
  EXPECT_EQ(text(type_of_output(model->graph, 0)), "f32[2*C*N, 3]");
}

TEST(Sizes, ExportComputesThemAgain) {
  const auto model = import_text(with_reshape);
  ASSERT_TRUE(model) << error_of(model);
  const auto bytes = serialize_model(*model);
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto again = import_bytes(*bytes);
  ASSERT_TRUE(again) << error_of(again);
  EXPECT_EQ(text(type_of_output(again->graph, 0)), "f32[2*C*N, 3]");
  EXPECT_THAT(kinds_of(again->graph), ElementsAre("input", "Reshape"));
}

TEST(Sizes, OverridesReplaceASymbolEverywhere) {
  const std::string graph = R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[N, C] x, float[N] v) => (float[N, C] y) { y = Relu(x) })";
  ImportOptions options;
  options.shapes["x"] = {4, Dimension::symbol("C")};
  const auto model = import_text(graph, options);
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_EQ(text(type_of_input(model->graph, 0)), "f32[4, C]");
  EXPECT_EQ(text(type_of_input(model->graph, 1)), "f32[4]");
  const auto out = exported(*model);
  EXPECT_EQ(out.graph().input(1).type().tensor_type().shape().dim(0).dim_value(), 4);
  EXPECT_EQ(out.graph().output(0).type().tensor_type().shape().dim(0).dim_value(), 4);
  EXPECT_EQ(out.graph().output(0).type().tensor_type().shape().dim(1).dim_param(), "C");
}

TEST(Sizes, OverridesMayGiveSymbols) {
  ImportOptions options;
  options.shapes["x"] = {Dimension::symbol("batch"), 3};
  const auto model = import_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[1, 3] x) => (float[1, 3] y) { y = Relu(x) })",
                                 options);
  ASSERT_TRUE(model) << error_of(model);
  const auto out = exported(*model);
  EXPECT_EQ(out.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "batch");
  EXPECT_EQ(out.graph().output(0).type().tensor_type().shape().dim(0).dim_param(), "batch");
}

TEST(Sizes, BoundInputsAreParameters) {
  const std::string graph = R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2, 6] x, int64[2] target) => (float[?, ?] y) { y = Reshape(x, target) })";
  const auto unbound = import_text(graph);
  ASSERT_TRUE(unbound) << error_of(unbound);
  EXPECT_THAT(kinds_of(unbound->graph), Contains("opaque Reshape"));
  ImportOptions options;
  options.bound_inputs.emplace("target", Constant::of_integers({4, 3}));
  const auto bound = import_text(graph, options);
  ASSERT_TRUE(bound) << error_of(bound);
  EXPECT_THAT(kinds_of(bound->graph), ElementsAre("input", "input", "Reshape"));
  EXPECT_EQ(text(type_of_output(bound->graph, 0)), "f32[4, 3]");
  EXPECT_EQ(exported(*bound).graph().input_size(), 2);
}

TEST(Sizes, KnownContentsAreFolded) {
  const auto model = import_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2, 6] x) => (int64[2] s) { s = Shape(x) })");
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), ElementsAre("input", "constant"));
  EXPECT_THAT(lines_of(exported(*model)), ElementsAre(HasSubstr("s = Identity(")));
}

// ---- The nodes themselves -----------------------------------------------------------------------

/// Evaluates what SizeNodes writes, with N = 7 and H = 2.
class Evaluator {
 public:
  explicit Evaluator(int operator_set)
      : nodes_({{"N", {"x", 0}}, {"H", {"v", 1}}}, operator_set,
               {[this](std::string_view op, std::vector<std::string> inputs,
                       std::map<std::string, std::int64_t>) { return apply(op, inputs); },
                [this](const std::vector<std::int64_t>& elements, bool) {
                  return define(elements);
                }}) {
    values_["shape of x"] = {7, 100};
    values_["shape of v"] = {100, 2};
  }

  Result<std::vector<std::int64_t>> operator()(const std::vector<std::string>& sizes,
                                               std::span<const SizedValue> nearby = {}) {
    Shape shape;
    for (const std::string& size : sizes) shape.push_back(*parse_dimension(size));
    LEMMA_ASSIGN_OR_RETURN(const std::string name, nodes_.sizes(shape, false, nearby));
    return values_.at(name);
  }
  void define_shape(const std::string& value, std::vector<std::int64_t> sizes) {
    values_["shape of " + value] = std::move(sizes);
  }
  int count(const std::string& op) const { return counts_.count(op) != 0 ? counts_.at(op) : 0; }

 private:
  std::string define(std::vector<std::int64_t> elements) {
    std::string name = std::to_string(values_.size());
    values_[name] = std::move(elements);
    return name;
  }
  std::string apply(std::string_view op, const std::vector<std::string>& inputs) {
    ++counts_[std::string(op)];
    if (op == "Shape") return "shape of " + inputs[0];
    if (op == "Concat") {
      std::vector<std::int64_t> all;
      for (const std::string& input : inputs)
        all.insert(all.end(), values_.at(input).begin(), values_.at(input).end());
      return define(all);
    }
    const std::int64_t a = values_.at(inputs[0])[0];
    if (op == "Abs") return define({std::abs(a)});
    const std::int64_t b = values_.at(inputs[1])[0];
    if (op == "Gather") return define({values_.at(inputs[0]).at(static_cast<std::size_t>(b))});
    if (op == "Add") return define({a + b});
    if (op == "Sub") return define({a - b});
    if (op == "Mul") return define({a * b});
    if (op == "Div") return define({a / b});  // truncates, as ONNX has it
    if (op == "Mod") return define({((a % b) + b) % b});
    if (op == "Min") return define({std::min(a, b)});
    if (op == "Max") return define({std::max(a, b)});
    ADD_FAILURE() << op;
    return define({0});
  }
  std::map<std::string, std::vector<std::int64_t>> values_;
  std::map<std::string, int> counts_;
  SizeNodes nodes_;
};

TEST(SizeNodes, ComputePolynomials) {
  Evaluator evaluate(13);
  EXPECT_THAT(*evaluate({"N", "3", "4", "2*N*H - 5", "N*N + H"}), ElementsAre(7, 3, 4, 23, 51));
  EXPECT_EQ(evaluate.count("Shape"), 2);
  EXPECT_EQ(evaluate.count("Gather"), 2);
}

TEST(SizeNodes, ShareWhatIsEqual) {
  Evaluator evaluate(13);
  EXPECT_THAT(*evaluate({"N*H", "1"}), ElementsAre(14, 1));
  const int products = evaluate.count("Mul");
  EXPECT_THAT(*evaluate({"2", "N*H"}), ElementsAre(2, 14));
  EXPECT_EQ(evaluate.count("Mul"), products);
}

TEST(SizeNodes, RoundDown) {
  Evaluator evaluate(13);
  EXPECT_THAT(*evaluate({"floordiv(N, 2)"}), ElementsAre(3));
  EXPECT_THAT(*evaluate({"floordiv(H - N, 2)"}), ElementsAre(-3));  // floor(-2.5)
  EXPECT_FALSE(Evaluator(9)({"floordiv(H - N, 2)"}));
  EXPECT_THAT(*Evaluator(9)({"floordiv(N, 2)"}), ElementsAre(3));
}

TEST(SizeNodes, ExtremaInEveryOperatorSet) {
  for (const int operator_set : {7, 11, 12, 17}) {
    Evaluator evaluate(operator_set);
    EXPECT_THAT(*evaluate({"min(N, H)", "max(N, H)", "max(H, N) - min(H, N)"}),
                ElementsAre(2, 7, 5));
    EXPECT_EQ(evaluate.count("Min") != 0, operator_set >= 12);
  }
}

TEST(SizeNodes, AreReadOffNearbyValues) {
  Evaluator evaluate(13);
  evaluate.define_shape("t", {3, 41, 5});
  const Shape shape = {3, *parse_dimension("floordiv(N, H) + 1"), *parse_dimension("Q")};
  const std::vector<SizedValue> nearby = {{"t", &shape}};
  // 41 is not what the formula gives: the value's own shape counts.
  EXPECT_THAT(*evaluate({"N", "floordiv(N, H) + 1", "Q"}, nearby), ElementsAre(7, 41, 5));
  EXPECT_EQ(evaluate.count("Div"), 0);
}

TEST(SizeNodes, SymbolWithoutASourceIsAnError) {
  Evaluator evaluate(13);
  const auto result = evaluate({"N", "Q"});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("'Q'"));
}

}  // namespace
}  // namespace lemma::frontend
