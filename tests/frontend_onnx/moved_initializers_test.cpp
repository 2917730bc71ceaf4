// Initializers become those of the only body that uses them.

#include "frontend_onnx/moved_initializers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/bodies.h"
#include "tests/frontend_onnx/models.h"

namespace lemma::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> initializers_of(const ::onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
  return names;
}

/// Of the node that has bodies.
::onnx::GraphProto body_of(const ::onnx::ModelProto& model, int attribute) {
  for (const auto& node : model.graph().node())
    if (node.attribute_size() > attribute) return node.attribute(attribute).g();
  ADD_FAILURE() << "no node has so many bodies";
  return {};
}

/// `t` is a value of the graph; w, v, z, o and i are initializers.
::onnx::ModelProto with_if(int ir_version = 8) {
  return parse_text("<ir_version: " + std::to_string(ir_version) +
                    R"(, opset_import: ["" : 13]>
  g (float[2] x, bool c, float[2] i) => (float[2] y, float[2] o)
    <float[2] w = {1, 2}, float[2] v = {3, 4}, float[2] z = {5, 6}, float[2] o = {7, 8}, float[2] i = {9, 1}> {
    t = Add(x, z)
    y = If (c) <then_branch = a () => (float[2] p) { u = Add(t, w)  k = Add(u, v)  l = Add(k, i)  p = Add(l, o) },
                else_branch = b () => (float[2] q) { r = Mul(t, v)  q = Mul(r, z) }>
  })");
}

TEST(MovedInitializers, OnlyWhatOneBodyUsesAlone) {
  auto model = with_if();
  EXPECT_EQ(move_initializers_into_bodies(model), 1U);
  EXPECT_THAT(initializers_of(body_of(model, 0)), ElementsAre("w"));
  EXPECT_THAT(initializers_of(body_of(model, 1)), IsEmpty());
  EXPECT_THAT(initializers_of(model.graph()), ElementsAre("v", "z", "o", "i"));
  EXPECT_EQ(move_initializers_into_bodies(model), 0U);
}

TEST(MovedInitializers, OldModelsAndOtherFilesStay) {
  auto old = with_if(3);
  EXPECT_EQ(move_initializers_into_bodies(old), 0U);
  auto apart = with_if();
  apart.mutable_graph()->mutable_initializer(0)->set_data_location(::onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(move_initializers_into_bodies(apart), 0U);
}

TEST(MovedInitializers, ABodyWithinABodyCounts) {
  auto model = parse_text(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}, float[2] inner = {3, 4}> {
      y = If (c) <then_branch = a () => (float[2] p) {
          p = If (c) <then_branch = d () => (float[2] r) { r = Add(w, x) },
                      else_branch = e () => (float[2] s) { inner = Neg(x)  s = Neg(inner) }> },
                  else_branch = b () => (float[2] q) { q = Neg(x) }>
    })");
  EXPECT_EQ(move_initializers_into_bodies(model), 1U);
  EXPECT_THAT(initializers_of(body_of(model, 0)), ElementsAre("w"));
  EXPECT_THAT(initializers_of(model.graph()), ElementsAre("inner"));
}

TEST(MovedInitializers, AModelIsAnotherOneThen) {
  const auto model = import_message(with_if());
  ASSERT_TRUE(model) << error_of(model);
  const RewriteBody leave = [](Body) { return std::optional<BetterBody>(); };
  const auto moved = with_rewritten_bodies(*model, {}, {}, {leave, true});
  ASSERT_TRUE(moved) << moved.error().message;
  ASSERT_TRUE(*moved);
  EXPECT_TRUE((*moved)->envelope.has_rewritten_bodies());
  const auto written = exported(**moved);
  EXPECT_THAT(initializers_of(body_of(written, 0)), ElementsAre("w"));
  const auto left = with_rewritten_bodies(*model, {}, {}, {leave, false});
  ASSERT_TRUE(left);
  EXPECT_FALSE(*left);
}

}  // namespace
}  // namespace lemma::frontend
