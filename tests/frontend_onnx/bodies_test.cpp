// Bodies of nodes are rewritten as models of their own and put back.

#include "frontend_onnx/bodies.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "tests/frontend_onnx/models.h"

namespace lemma::frontend {
namespace {

using ::testing::IsEmpty;

/// Names that a body defines though a graph around it does, which ONNX forbids.
void collect_hidden(const ::onnx::GraphProto& graph, std::set<std::string> around,
                    std::set<std::string>& hidden) {
  const auto define = [&](const std::string& name) {
    if (!around.insert(name).second) hidden.insert(name);
  };
  for (const auto& input : graph.input()) define(input.name());
  for (const auto& tensor : graph.initializer()) define(tensor.name());
  for (const auto& node : graph.node())
    for (const auto& output : node.output()) define(output);
  for (const auto& node : graph.node())
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) collect_hidden(attribute.g(), around, hidden);
}

std::set<std::string> hidden_names(const ::onnx::ModelProto& model) {
  std::set<std::string> hidden;
  collect_hidden(model.graph(), {}, hidden);
  return hidden;
}

TEST(Bodies, NewNamesHideNoneAroundThemAtAnyDepth) {
  // "k" is taken around the body, so that the body's becomes "k_1", which a body in it defines.
  const auto model = import_text(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x, bool c) => (float[2] y) <float[2] k = {1, 2}> {
      a = Add(x, k)
      b = If (c) <
        then_branch = one () => (float[2] r) {
          s = Neg(x)  t = Neg(s)  u = Neg(t)
          r = If (c) <then_branch = two () => (float[2] p) { p = Exp(u) },
                      else_branch = three () => (float[2] q) { q = Abs(u) }> },
        else_branch = four () => (float[2] v) { v = Relu(x) }>
      y = Add(a, b)
    })");
  ASSERT_TRUE(model) << error_of(model);
  const RewriteBody rewrite = [](const Body& body) -> std::optional<BetterBody> {
    if (!body.place.ends_with("then_branch")) return std::nullopt;
    auto better = import_text(R"(<ir_version: 8, opset_import: ["" : 13]>
      g (float[2] x, bool c) => (float[2] r) <float[2] k = {3, 4}> {
        u = Mul(x, k)
        r = If (c) <
          then_branch = two () => (float[2] p) <float[2] k_1 = {5, 6}> { p = Sub(u, k_1) },
          else_branch = three () => (float[2] q) <float[2] k_1 = {7, 8}> { a = Mul(u, k_1)  q = Abs(a) }>
      })");
    if (!better) {
      ADD_FAILURE() << error_of(better);
      return std::nullopt;
    }
    return BetterBody{std::move(*better), true, false};
  };
  const auto rewritten = with_rewritten_bodies(*model, {}, {}, {rewrite, false});
  ASSERT_TRUE(rewritten) << rewritten.error().message;
  ASSERT_TRUE(*rewritten);
  const auto written = exported(**rewritten);
  EXPECT_THAT(hidden_names(written), IsEmpty()) << written.DebugString();
  EXPECT_NE(written.DebugString().find("op_type: \"Sub\""), std::string::npos);
}

}  // namespace
}  // namespace lemma::frontend
