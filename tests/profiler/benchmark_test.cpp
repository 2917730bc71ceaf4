// The model in which a node is measured.

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <set>

#include "profiler/runtime_graph.h"

namespace lemma {
namespace {

/// A product with a weight of 64 x 64 zeros.
RuntimeNode product(WeightPlace weights) {
  onnx::ModelProto frame;
  frame.set_ir_version(8);
  frame.add_opset_import()->set_version(17);
  onnx::NodeProto proto;
  proto.set_op_type("MatMul");
  for (const char* input : {"x", "w"}) proto.add_input(input);
  proto.add_output("y");
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (int i = 0; i < 2; ++i) tensor.add_dims(64);
  tensor.set_raw_data(std::string(64 * 64 * sizeof(float), '\0'));
  RuntimeNode node;
  node.kind = "MatMul";
  node.proto = proto.SerializeAsString();
  node.frame = frame.SerializeAsString();
  node.inputs = {{DataType::f32, {1, 64}, false, "", {}},
                 {DataType::f32, {64, 64}, true, tensor.SerializeAsString(), {}}};
  node.outputs = {{DataType::f32, {1, 64}, false, "", {}}};
  node.weights = weights;
  return node;
}

onnx::GraphProto graph_of(const RuntimeNode& node, int copies) {
  const auto benchmark = benchmark_of(node, copies);
  EXPECT_TRUE(benchmark) << benchmark.error().message;
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(benchmark->model));
  return model.graph();
}

TEST(Benchmark, CopiesShareWeightsThatStayNear) {
  const onnx::GraphProto graph = graph_of(product({}), 3);
  EXPECT_EQ(graph.node_size(), 3);
  EXPECT_EQ(graph.initializer_size(), 1);
  EXPECT_EQ(graph.output_size(), 1);
}

TEST(Benchmark, OtherwiseEachHasItsOwnAndNoTwoAreEqual) {
  const onnx::GraphProto graph = graph_of(product({1U << 24U}), 64);
  ASSERT_EQ(graph.initializer_size(), 64);
  std::set<std::string> contents;
  for (const onnx::TensorProto& tensor : graph.initializer()) contents.insert(tensor.raw_data());
  EXPECT_EQ(contents.size(), 64U);
}

}  // namespace
}  // namespace lemma
