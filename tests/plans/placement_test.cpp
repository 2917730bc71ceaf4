#include "plans/placement/placement.h"

#include <gtest/gtest.h>

#include "interpreter/random.h"
#include "interpreter/run.h"
#include "plans/placement/placement_text.h"

namespace lemma::plans {
namespace {

using interpreter::Tensor;

const Mesh mesh{{{"data", 2}, {"tensor", 3}}};

Tensor computed(const Graph& graph, const Tensor& input) {
  const std::vector<interpreter::NamedTensor> inputs = {{"x", input}};
  const auto result = interpreter::run(graph, inputs);
  EXPECT_TRUE(result) << result.error().message;
  return result ? result->front() : Tensor();
}

TEST(Placement, OfEveryKindIsCollectedAgain) {
  const Shape whole = {12, 6};
  const Tensor x = interpreter::random_tensor(DataType::f32, {12, 6}, 1);
  std::size_t count = 0;
  for (const Share first : {Share{}, Share{Sharing::parted, 0}, Share{Sharing::parted, 1}})
    for (const Share second : {Share{}, Share{Sharing::parted, 0}, Share{Sharing::parted, 1}}) {
      const Placement placement = {first, second};
      Graph graph;
      const auto input = graph.add_input("x", {DataType::f32, whole});
      const auto placed = place(graph, *input, placement, mesh);
      ASSERT_TRUE(placed) << text(placement, mesh);
      const auto local = local_shape(whole, placement, mesh);
      ASSERT_TRUE(local);
      Shape expected = {2, 3};
      expected.insert(expected.end(), local->begin(), local->end());
      EXPECT_EQ(*graph.type(*placed).shape, expected) << text(placement, mesh);
      const auto again = collect(graph, *placed, placement, mesh);
      ASSERT_TRUE(again);
      ASSERT_TRUE(graph.add_output("y", *again));
      EXPECT_EQ(computed(graph, x), x) << text(placement, mesh);
      ++count;
    }
  EXPECT_EQ(count, 9U);
}

TEST(Placement, OfAnAxisCutTwiceHasTheLargerPartsAlongTheFirstAxisOfTheMesh) {
  Graph graph;
  const auto input = graph.add_input("x", {DataType::i64, Shape{6}});
  const auto placed = place(graph, *input, {{Sharing::parted, 0}, {Sharing::parted, 0}}, mesh);
  ASSERT_TRUE(placed && graph.add_output("y", *placed));
  const Tensor result = computed(
      graph,
      Tensor::from_integers(DataType::i64, {6}, std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(result.sizes(), (interpreter::Sizes{2, 3, 1}));
  EXPECT_EQ(result.integers(), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Placement, OfPartsIsReduced) {
  Graph graph;
  const auto input = graph.add_input("x", {DataType::i64, Shape{2, 3, 2}});
  const Placement placement = {{Sharing::partial, 0, Reduction::sum}, {Sharing::parted, 0}};
  const auto whole = collect(graph, *input, placement, mesh);
  ASSERT_TRUE(whole && graph.add_output("y", *whole));
  const Tensor result = computed(
      graph,
      Tensor::from_integers(DataType::i64, {2, 3, 2},
                            std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(result.integers(), (std::vector<std::int64_t>{10, 21, 32, 43, 54, 65}));
}

TEST(PlacementsBetween, AreAllThatTheShapesAllow) {
  const Mesh row{{{"devices", 2}}};
  EXPECT_EQ(placements_between({4, 4}, {4, 4}, row, {}).size(), 1U);
  EXPECT_EQ(placements_between({4, 4}, {4, 4}, row, {Reduction::sum}).size(), 2U);
  EXPECT_EQ(placements_between({4, 4}, {2, 4}, row, {Reduction::sum}).size(), 1U);
  EXPECT_TRUE(placements_between({4, 4}, {3, 4}, row, {Reduction::sum}).empty());
  EXPECT_TRUE(placements_between({4, 4}, {4}, row, {}).empty());
  EXPECT_TRUE(placements_between({5}, {2}, row, {}).empty());
  // Of size 0, every part is empty.
  EXPECT_EQ(placements_between({0}, {0}, row, {}).size(), 2U);
  // On one device, replicas and parts are the same.
  EXPECT_EQ(placements_between({4}, {4}, Mesh{{{"devices", 1}}}, {Reduction::sum}).size(), 1U);
}

TEST(PlacementText, IsRead) {
  const auto parsed = parse_mesh("data=2,tensor=3");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, mesh);
  const auto placements = parse_placements({"a:b:0,replicated"}, mesh, "--place");
  ASSERT_TRUE(placements);
  EXPECT_EQ(placements->at("a:b"), (Placement{{Sharing::parted, 0}, {}}));
}

TEST(PlacementText, ErrorsSayWhatIsWrong) {
  for (const char* text : {"", "data", "data=", "=2", "data=0", "data=-1", "data=2,data=3",
                           "data=99999999999999999999", "a=1048576,b=2", "a=1,b=1,c=1,d=1,e=1"})
    EXPECT_FALSE(parse_mesh(text)) << text;
  for (const char* text : {"x", ":0", "x:0", "x:0,1,2", "x:0,-1", "x:0,whole", "x:"})
    EXPECT_FALSE(parse_placements({text}, mesh, "--place")) << text;
  EXPECT_FALSE(parse_placements({"x:0,1", "x:1,0"}, mesh, "--place"));
}

}  // namespace
}  // namespace lemma::plans
