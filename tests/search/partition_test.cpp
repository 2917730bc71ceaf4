// Parts put together again are the graph that was cut.

#include "search/partition.h"

#include <limits>

#include "ir/check.h"
#include "ir/graph_text.h"
#include "search/neighborhood.h"
#include "tests/ir/random_graph.h"
#include "tests/search/random_network.h"

namespace lemma {
namespace {

std::uint64_t hash_of(const Graph& graph) {
  return neighborhood(graph, {}, testing::cpu_costs(), std::numeric_limits<double>::infinity(), {})
      .hash;
}

Graph together_again(const Graph& graph, const PartitionOptions& options, std::size_t& count) {
  const auto parts = partition(graph, options);
  EXPECT_TRUE(parts) << parts.error().message;
  std::vector<Graph> graphs;
  for (const Part& part : *parts) {
    EXPECT_TRUE(check(part.graph, Stage::imported));
    EXPECT_EQ(part.graph.inputs().size(), part.inputs.size());
    EXPECT_EQ(part.graph.outputs().size(), part.outputs.size());
    graphs.push_back(part.graph);
  }
  count = parts->size();
  auto whole = assemble(graph, *parts, graphs);
  EXPECT_TRUE(whole) << whole.error().message;
  return std::move(*whole);
}

TEST(Partition, PartsTogetherAreTheWhole) {
  std::size_t divided = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Graph graph = testing::RandomNetwork(seed).make(60);
    for (const std::size_t offset : {0U, 5U}) {
      std::size_t count = 0;
      const Graph whole = together_again(graph, {12, offset}, count);
      EXPECT_EQ(hash_of(whole), hash_of(graph)) << seed;
      EXPECT_EQ(whole.live_nodes().size(), graph.live_nodes().size()) << seed;
      divided += count > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(divided, 30U);
}

// Symbolic sizes, opaque operators, outputs that are inputs or constants.
TEST(Partition, HoldsForAnyWellFormedGraph) {
  std::size_t divided = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = testing::RandomGraph(seed).make(60);
    std::size_t count = 0;
    const Graph whole = together_again(graph, {4, seed % 3}, count);
    ASSERT_TRUE(check(whole, Stage::imported));
    EXPECT_EQ(whole.live_nodes().size(), graph.live_nodes().size()) << seed;
    EXPECT_EQ(whole.outputs().size(), graph.outputs().size());
    for (std::size_t i = 0; i < graph.outputs().size(); ++i)
      EXPECT_EQ(whole.type(whole.outputs()[i].value), graph.type(graph.outputs()[i].value));
    divided += count > 1 ? 1 : 0;
  }
  EXPECT_GT(divided, 10U);
}

TEST(Partition, CutsWhereFewValuesCross) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{2, 4}});
  // Two blocks of three branches each, joined by one value.
  ValueId value = x;
  for (int block = 0; block < 2; ++block) {
    std::vector<ValueId> branches;
    for (const char* op : {"Relu", "Tanh", "Sigmoid"}) branches.push_back(*graph.add(op, {value}));
    value = *graph.add("Add", {branches[0], branches[1]});
    value = *graph.add("Add", {value, branches[2]});
  }
  ASSERT_TRUE(graph.add_output("y", value));
  const auto parts = partition(graph, {4, 0});  // the middle is after the fifth of ten nodes
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ(parts->front().inputs.size(), 1U);
  EXPECT_EQ(parts->front().outputs.size(), 1U);
  EXPECT_EQ(parts->back().inputs.size(), 1U);
}

}  // namespace
}  // namespace lemma
