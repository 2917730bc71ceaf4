#include <gtest/gtest.h>

#include <filesystem>

#include "costmodel/priced_device.h"
#include "frontend_onnx/export.h"
#include "frontend_onnx/import.h"
#include "interpreter/random.h"
#include "interpreter/run.h"
#include "memory_plan/exact.h"
#include "memory_plan/graphs/graph_problem.h"
#include "memory_plan/graphs/run_plan.h"
#include "memory_plan/plan_within.h"
#include "memory_plan/replay.h"

namespace lemma::memory_plan {
namespace {

using interpreter::Tensor;

/// A chain of functions whose values are all read again, from the last one to the first one.
Graph ladder(int length) {
  Graph graph;
  ValueId value = *graph.add_input("x", {DataType::f32, Shape{6, 5}});
  std::vector<ValueId> values;
  for (int i = 0; i < length; ++i)
    values.push_back(value = *graph.add(i % 2 == 0 ? "Tanh" : "Sin", {value}));
  for (auto earlier = values.rbegin(); earlier != values.rend(); ++earlier)
    value = *graph.add("Mul", {value, *earlier});
  EXPECT_TRUE(graph.add_output("y", value));
  return graph;
}

OperatorCosts costs() {
  Device device;
  device.name = "test";
  device.contraction_peak[DataType::f32] = device.elementwise_peak[DataType::f32] = 1e9;
  device.memory_bandwidth = 1e9;
  return OperatorCosts(priced_by_roofline(std::move(device)));
}

Tensor input() { return interpreter::random_tensor(DataType::f32, {6, 5}, 1, 1); }

TEST(Graphs, ValuesAndTimesAreThoseOfTheGraph) {
  const Graph graph = ladder(3);
  const auto problem = problem_of(graph, costs());
  ASSERT_TRUE(problem) << problem.error().message;
  ASSERT_EQ(problem->problem.nodes.size(), 6);
  EXPECT_TRUE(check_problem(problem->problem));
  for (const Node& node : problem->problem.nodes) {
    EXPECT_EQ(node.bytes, 6 * 5 * 4);
    EXPECT_GT(node.seconds, 0);
  }
  EXPECT_EQ(problem->problem.nodes[3].operands, (std::vector<NodeNumber>{2}));
  EXPECT_EQ(problem->problem.nodes[5].operands, (std::vector<NodeNumber>{0, 4}));
  EXPECT_TRUE(problem->problem.nodes[5].is_kept);
}

TEST(Graphs, PlansGiveTheSameOutputs) {
  const Graph graph = ladder(8);
  const auto problem = problem_of(graph, costs());
  const auto expected =
      interpreter::run(graph, std::vector<interpreter::NamedTensor>{{"x", input()}});
  ASSERT_TRUE(expected);
  const Bytes value = 6 * 5 * 4;
  for (const Bytes limit : {9 * value, 7 * value, 5 * value, 4 * value}) {
    const Outcome outcome = plan_within(problem->problem, limit);
    ASSERT_TRUE(outcome.is_found()) << limit;
    const auto outputs = run_plan(graph, *problem, plan_of(problem->problem, outcome.sequence),
                                  std::vector<Tensor>{input()});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_TRUE(std::ranges::equal(outputs->front().bytes(), expected->front().bytes()));
    EXPECT_EQ(outcome.sequence.size() > graph.live_nodes().size() - 1, limit < 9 * value);
  }
}

TEST(Graphs, AFreedValueThatIsReadIsRefused) {
  const Graph graph = ladder(3);
  const auto problem = problem_of(graph, costs());
  Plan plan = plan_of(problem->problem, given_order(problem->problem));
  plan.steps[1].freed.push_back(0);
  const auto outputs = run_plan(graph, *problem, plan, std::vector<Tensor>{input()});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().message, "step 5: Mul reads a value that is not there");
}

TEST(Graphs, SizesThatAreNotFixedAreRefused) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{Dimension::symbol("N")}});
  EXPECT_TRUE(graph.add_output("y", *graph.add("Tanh", {x})));
  EXPECT_FALSE(problem_of(graph, costs()));
}

TEST(Graphs, FilesHaveTheOrderAndTheRepeatedNodes) {
  const Graph graph = ladder(8);
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "ladder.onnx";
  std::size_t runs = 0;
  ExportOptions writing;
  writing.order = [&runs](const Graph& written) -> Result<std::vector<NodeId>> {
    const auto problem = problem_of(written, costs());
    const Outcome outcome = plan_within(problem->problem, 4 * 6 * 5 * 4);
    runs = outcome.sequence.size();
    return nodes_of(*problem, outcome.sequence);
  };
  ASSERT_TRUE(export_model({graph, ModelEnvelope::for_operator_set(18)}, file, writing));
  EXPECT_GT(runs, 16);
  const auto read = import_model(file, {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->envelope.file_nodes(), runs);
  // Equal nodes are one node in a graph, so that the values are those of the graph.
  const std::vector<interpreter::NamedTensor> inputs = {{"x", input()}};
  const auto expected = interpreter::run(graph, inputs),
             outputs = interpreter::run(read->graph, inputs);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_TRUE(std::ranges::equal(outputs->front().bytes(), expected->front().bytes()));
}

}  // namespace
}  // namespace lemma::memory_plan
