#include "egraph/egraph.h"

#include <array>

#include "tests/egraph/helpers.h"

namespace lemma {
namespace {

const TensorType vector4{DataType::f32, Shape{4}};

ClassId add(EGraph& egraph, std::string_view op, std::vector<ClassId> children,
            Attributes attributes = {}, std::uint32_t outputs = 1) {
  const auto result =
      egraph.add_operation(operator_named(op), children, std::move(attributes), outputs);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : ClassId::none();
}

struct TwoInputs {
  EGraph egraph;
  ClassId x, y;
  TwoInputs() {
    Graph graph;
    const ValueId a = *graph.add_input("x", vector4), b = *graph.add_input("y", vector4);
    const auto values = egraph.add_graph(graph);
    x = values[a.v];
    y = values[b.v];
  }
};

TEST(EGraph, EqualNodesAreOne) {
  TwoInputs t;
  EXPECT_EQ(add(t.egraph, "Add", {t.x, t.y}), add(t.egraph, "Add", {t.x, t.y}));
  EXPECT_NE(add(t.egraph, "Add", {t.x, t.y}), add(t.egraph, "Add", {t.y, t.x}));
  EXPECT_EQ(add(t.egraph, "Softmax", {t.x}),
            add(t.egraph, "Softmax", {t.x}, {{"axis", std::int64_t{0}}}))
      << "attributes are completed";
  EXPECT_EQ(t.egraph.node_count(), 5U);
}

TEST(EGraph, CongruenceClimbs) {
  TwoInputs t;
  ClassId a = t.x, b = t.y;
  for (int i = 0; i < 50; ++i) {
    a = add(t.egraph, "Relu", {a});
    b = add(t.egraph, "Relu", {b});
  }
  EXPECT_NE(t.egraph.find(a), t.egraph.find(b));
  ASSERT_TRUE(*t.egraph.unite(t.x, t.y));
  t.egraph.rebuild();
  EXPECT_EQ(t.egraph.find(a), t.egraph.find(b));
  EXPECT_EQ(t.egraph.class_count(), 51U);
  EXPECT_EQ(t.egraph.node_count(), 52U);
  const auto sound = t.egraph.check_invariants();
  EXPECT_TRUE(sound) << sound.error().message;
  EXPECT_FALSE(*t.egraph.unite(a, b));
}

TEST(EGraph, DeepChainsNeedNoStack) {
  TwoInputs t;
  ClassId a = t.x, b = t.y;
  for (int i = 0; i < 100'000; ++i) {
    a = add(t.egraph, "Relu", {a});
    b = add(t.egraph, "Relu", {b});
  }
  ASSERT_TRUE(t.egraph.unite(t.x, t.y));
  t.egraph.rebuild();
  EXPECT_EQ(t.egraph.find(a), t.egraph.find(b));
  EXPECT_EQ(t.egraph.class_count(), 100'001U);
}

TEST(EGraph, ValuesOfDifferentTypesAreNeverEqual) {
  TwoInputs t;
  const ClassId wide = add(t.egraph, "Unsqueeze", {t.x}, {{"axes", Integers{0}}});
  const auto result = t.egraph.unite(t.x, wide);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::internal);
  EXPECT_EQ(result.error().message, "values of type f32[4] and f32[1, 4] cannot be equal");
}

TEST(EGraph, FoundingChildrenStay) {
  TwoInputs t;
  const ClassId sum = add(t.egraph, "Add", {t.x, t.y});
  ASSERT_TRUE(t.egraph.unite(t.x, t.y));
  t.egraph.rebuild();
  const std::array before = {t.x, t.y}, after = {t.x, t.x};
  EXPECT_TRUE(std::ranges::equal(t.egraph.founding_children({sum.v}), before));
  EXPECT_TRUE(std::ranges::equal(t.egraph.children({sum.v}), after));
}

TEST(EGraph, TuplesMergeWithTheirOutputs) {
  TwoInputs t;
  const Attributes halves{{"axis", std::int64_t{0}}, {"split", Shape{1, 3}}};
  const ClassId a = add(t.egraph, "Split", {t.x}, halves, 2);
  const ClassId b = add(t.egraph, "Split", {t.y}, halves, 2);
  const ClassId a1 = t.egraph.add_projection(a, 1), b1 = t.egraph.add_projection(b, 1);
  EXPECT_EQ(t.egraph.type(a1), (TensorType{DataType::f32, Shape{3}}));
  EXPECT_NE(a1, b1);
  EXPECT_FALSE(t.egraph.add_operation(operator_named("Relu"), std::array{a}, Attributes{}))
      << "a tuple is no value";
  ASSERT_TRUE(t.egraph.unite(t.x, t.y));
  t.egraph.rebuild();
  EXPECT_EQ(t.egraph.find(a1), t.egraph.find(b1));
  const auto sound = t.egraph.check_invariants();
  EXPECT_TRUE(sound) << sound.error().message;
}

TEST(EGraph, WeightOnlySpreadsThroughMerges) {
  TwoInputs t;
  const ClassId w = t.egraph.add_constant(Constant::of<float>(DataType::f32, {4}, {1, 2, 3, 4}));
  EXPECT_EQ(t.egraph.add_constant(Constant::of<float>(DataType::f32, {4}, {1, 2, 3, 4})), w);
  const ClassId of_weight = add(t.egraph, "Relu", {w});
  const ClassId mixed = add(t.egraph, "Add", {w, t.y});
  const ClassId above = add(t.egraph, "Relu", {mixed});
  EXPECT_TRUE(t.egraph.weight_only(of_weight));
  EXPECT_FALSE(t.egraph.weight_only(above));
  ASSERT_TRUE(t.egraph.unite(t.y, w));
  t.egraph.rebuild();
  EXPECT_TRUE(t.egraph.weight_only(above));
  EXPECT_NE(t.egraph.constant_of(t.y), nullptr);
  const auto sound = t.egraph.check_invariants();
  EXPECT_TRUE(sound) << sound.error().message;
}

TEST(EGraph, OpaqueNodesAreNeverMerged) {
  const Graph graph = testing::graph_of(R"(graph "g"
  input %0 "x" : f32[4]
  %1 = opaque "com.example" "Random" "" "random" (%0) : f32[4]
  %2 = opaque "com.example" "Random" "" "random" (%0) : f32[4]
  %3 = Add(%1, %2) : f32[4]
  output "y" = %3
)");
  EGraph egraph;
  const auto values = egraph.add_graph(graph);
  EXPECT_NE(egraph.find(values[1]), egraph.find(values[2]));
  EXPECT_FALSE(egraph.weight_only(values[3]));
}

}  // namespace
}  // namespace lemma
