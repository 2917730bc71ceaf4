// Models that are refused, and what is said about them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "tests/frontend_onnx/models.h"

namespace lemma::frontend {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* header = R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>)";

std::string error_of_text(const std::string& graph) {
  return error_of(import_text(header + graph));
}

::onnx::ModelProto valid_model() {
  return parse_text(std::string(header) +
                    R"(g (float[2, 2] x) => (float[2, 2] y) <float[2, 2] w = {1, 2, 3, 4}> {
                      t = MatMul(x, w)
                      y = custom.If <then: graph = b () => (float[2, 2] p) { p = Neg(t) }> (t)
                    })");
}

TEST(Errors, FileThatIsNotThere) {
  const auto model = import_model("/no/such/model.onnx");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(model.error().message, HasSubstr("/no/such/model.onnx"));
}

TEST(Errors, FolderInsteadOfFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of(import_model(folder.path())), HasSubstr("not a regular file"));
}

TEST(Errors, FilesThatAreNoModels) {
  EXPECT_THAT(error_of(import_bytes("")), HasSubstr("not an ONNX model"));
  EXPECT_THAT(error_of(import_bytes("PK\x03\x04 certainly not a model")),
              HasSubstr("not an ONNX model"));
  EXPECT_THAT(error_of(import_bytes(std::string(100, '\xff'))), HasSubstr("not an ONNX model"));
}

TEST(Errors, TruncatedAnywhere) {
  const std::string bytes = valid_model().SerializeAsString();
  ASSERT_TRUE(import_bytes(bytes));
  int refused = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto model = import_bytes(bytes.substr(0, length));  // must return, and not crash
    refused += model ? 0 : 1;
    if (!model) {
      EXPECT_EQ(model.error().kind, ErrorKind::bad_input) << model.error().message;
    }
  }
  // A cut between two fields of the file leaves a model without what comes after.
  EXPECT_GT(refused, static_cast<int>(bytes.size()) - 10);
}

TEST(Errors, DamagedAnywhere) {
  std::string bytes = valid_model().SerializeAsString();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const char damage : {'\x00', '\x7f', '\xff'}) {
      const char original = std::exchange(bytes[i], damage);
      const auto model = import_bytes(bytes);
      if (model) (void)serialize_model(*model);
      bytes[i] = original;
    }
}

TEST(Errors, NamesUsedTwice) {
  EXPECT_THAT(error_of_text("g (float[2] x) => (float[2] y) { y = Neg(x) y = Relu(x) }"),
              AllOf(HasSubstr("node 1 (Relu)"), HasSubstr("'y'"), HasSubstr("node 0 (Neg)")));
  EXPECT_THAT(error_of_text("g (float[2] x) => (float[2] x) { x = Neg(x) }"),
              AllOf(HasSubstr("node 0 (Neg)"), HasSubstr("'x'")));
  EXPECT_THAT(error_of_text("g (float[2] x, float[2] x) => (float[2] y) { y = Neg(x) }"),
              HasSubstr("two graph inputs are named 'x'"));
  auto message = valid_model();
  *message.mutable_graph()->add_initializer() = message.graph().initializer(0);
  EXPECT_THAT(error_of(import_message(message)), HasSubstr("two initializers are named 'w'"));
}

TEST(Errors, AnOutputThatIsNamedTwiceStaysThereTwice) {
  auto message = valid_model();
  *message.mutable_graph()->add_output() = message.graph().output(0);
  const auto model = import_message(message);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->graph.outputs().size(), 1U);
  const auto written = exported(*model);
  ASSERT_EQ(written.graph().output_size(), 2);
  EXPECT_EQ(written.graph().output(0).name(), "y");
  EXPECT_EQ(written.graph().output(1).name(), "y");
}

TEST(Errors, NamesThatAreNotDefined) {
  EXPECT_THAT(error_of_text("g (float[2] x) => (float[2] y) { y = Add(x, missing) }"),
              AllOf(HasSubstr("node 0 (Add)"), HasSubstr("'missing'")));
  EXPECT_THAT(error_of_text("g (float[2] x) => (float[2] y) { z = Neg(x) }"),
              HasSubstr("graph output 'y' is not defined"));
  EXPECT_THAT(error_of_text(R"(g (float[2] x, bool c) => (float[2] y) {
                y = If (c) <then_branch = a () => (float[2] p) { p = Neg(lost) },
                            else_branch = b () => (float[2] q) { q = Neg(x) }> })"),
              AllOf(HasSubstr("node 0 (If)"), HasSubstr("'lost'")));
}

TEST(Errors, Cycles) {
  const std::string error = error_of_text(R"(g (float[2] x) => (float[2] y) {
    p = Neg(x)
    a = Add(p, c)
    b = Relu(a)
    c = Relu(b)
    y = Neg(c)
  })");
  EXPECT_THAT(error, HasSubstr("cycle"));
  EXPECT_THAT(error, ::testing::MatchesRegex(".*node [123] .*"));
}

TEST(Errors, ShapesThatDoNotFit) {
  auto message = parse_text(std::string(header) +
                            "g (float[2, 3] x, float[4, 5] w) => (float[2, 5] y) "
                            "{ t = Identity(x)  y = MatMul(t, w) }");
  message.mutable_graph()->mutable_node(1)->set_name("product");
  const auto model = import_message(message);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(model.error().message, HasSubstr("node 1 'product' (MatMul)"));
}

TEST(Errors, ShapesThatMayNotFitStayOpaque) {
  const auto model = import_text(std::string(header) +
                                 "g (float[2, N] x, float[4, 5] w) => (float[2, 5] y) "
                                 "{ y = MatMul(x, w) }");
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), ::testing::Contains("opaque MatMul"));
}

TEST(Errors, SizesOfInitializers) {
  auto change = [](auto edit) {
    auto message = valid_model();
    edit(*message.mutable_graph()->mutable_initializer(0));
    return error_of(import_message(message));
  };
  using Tensor = ::onnx::TensorProto;
  EXPECT_THAT(
      change([](Tensor& tensor) { tensor.set_dims(0, 3); }),
      AllOf(HasSubstr("tensor 'w'"), HasSubstr("needs 24 bytes of data, but 16 are there")));
  EXPECT_THAT(change([](Tensor& tensor) { tensor.set_dims(0, -2); }),
              HasSubstr("negative size -2"));
  EXPECT_THAT(change([](Tensor& tensor) {
                tensor.set_dims(0, INT64_MAX);
                tensor.set_dims(1, INT64_MAX);
              }),
              HasSubstr("overflows"));
  EXPECT_THAT(change([](Tensor& tensor) { tensor.set_dims(0, INT64_MAX / 2); }),
              AllOf(HasSubstr("tensor 'w'"), HasSubstr("overflows")));
  EXPECT_THAT(change([](Tensor& tensor) { tensor.clear_data_type(); }),
              HasSubstr("the element type is missing"));
  EXPECT_THAT(change([](Tensor& tensor) { tensor.clear_name(); }), HasSubstr("has no name"));
}

TEST(Errors, SizesOfInputs) {
  auto change = [](std::int64_t first, std::int64_t second) {
    auto message = valid_model();
    auto& shape = *message.mutable_graph()
                       ->mutable_input(0)
                       ->mutable_type()
                       ->mutable_tensor_type()
                       ->mutable_shape();
    shape.mutable_dim(0)->set_dim_value(first);
    shape.mutable_dim(1)->set_dim_value(second);
    return import_message(message);
  };
  EXPECT_THAT(error_of(change(-7, 2)),
              AllOf(HasSubstr("input 'x'"), HasSubstr("negative size -7")));
  EXPECT_THAT(error_of(change(INT64_MAX, INT64_MAX)),
              AllOf(HasSubstr("input 'x'"), HasSubstr("overflows")));
  const auto unknown = change(-1, 2);  // as some exporters write a size that is not known
  ASSERT_TRUE(unknown) << error_of(unknown);
  const auto type = unknown->graph.type(unknown->graph.node(unknown->graph.inputs()[0]).output());
  EXPECT_TRUE((*type.shape)[0].as_symbol());
}

TEST(Errors, VersionsThatAreTooNew) {
  auto message = valid_model();
  message.set_ir_version(newest_ir_version + 1);
  const auto model = import_message(message);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(model.error().message, HasSubstr("IR version"));
}

TEST(Errors, AttributeGivenTwice) {
  auto message = parse_text(std::string(header) +
                            "g (float[2, 2] x) => (float[2, 2] y) { y = Softmax <axis = 1> (x) }");
  auto& node = *message.mutable_graph()->mutable_node(0);
  *node.add_attribute() = node.attribute(0);
  EXPECT_THAT(error_of(import_message(message)),
              AllOf(HasSubstr("node 0 (Softmax)"), HasSubstr("'axis' is given twice")));
}

TEST(Errors, OverridesThatDoNotFit) {
  const std::string text =
      std::string(header) + "g (float[N, 2] x, float[N] v) => (float[N, 2] y) { y = Relu(x) }";
  auto with = [&text](const std::string& name, Shape shape) {
    ImportOptions options;
    options.shapes[name] = std::move(shape);
    return error_of(import_text(text, options));
  };
  EXPECT_THAT(with("nothing", {1}), HasSubstr("no graph input is named 'nothing'"));
  EXPECT_THAT(with("x", {1, 2, 3}), HasSubstr("has 2 axes, not 3"));
  EXPECT_EQ(with("x", {5, 2}), "");
  ImportOptions options;
  options.shapes["x"] = {5, 2};
  options.shapes["v"] = {6};
  EXPECT_THAT(error_of(import_text(text, options)), HasSubstr("is set to both"));
  options.shapes.clear();
  options.bound_inputs.emplace("v", Constant::of_integers({1}));
  EXPECT_THAT(error_of(import_text(text, options)), HasSubstr("input 'v' is f32[N]"));
}

TEST(Errors, SubgraphsNestedTooDeeply) {
  ::onnx::NodeProto node;
  node.set_op_type("If");
  node.add_input("c");
  node.add_output("y");
  for (int depth = 0; depth < 60; ++depth) {
    ::onnx::NodeProto outer;
    outer.set_op_type("If");
    outer.add_input("c");
    outer.add_output("y");
    auto& attribute = *outer.add_attribute();
    attribute.set_name("then_branch");
    attribute.mutable_g()->add_node()->Swap(&node);
    node.Swap(&outer);
  }
  auto message = valid_model();
  *message.mutable_graph()->add_node() = node;
  const auto model = import_message(message);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace lemma::frontend
