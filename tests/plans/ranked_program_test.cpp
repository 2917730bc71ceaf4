#include "plans/by_rank/ranked_program.h"

#include <array>

#include <gtest/gtest.h>

#include "costmodel/device.h"
#include "costmodel/operator_costs.h"
#include "plans/on_ranks/thread_ranks.h"
#include "plans/planner/simulation.h"

namespace lemma::plans {
namespace {

TensorType row(std::int64_t size) { return {DataType::f32, Shape{Dimension(size)}}; }

/// Rank 0 has x; each of two ranks adds what it has to itself, and they pass it on to each other.
struct TwoRanks {
  RankedProgram program;
  NodeId first, second;

  TwoRanks() {
    Graph& graph = program.program.graph;
    const ValueId x = *graph.add_input("x", row(1000));
    first = *graph.add_operation(operator_named("Add"), {x, x}, {});
    const ValueId twice = graph.node(first).output();
    second = *graph.add_operation(operator_named("Mul"), {twice, twice}, {});
    program.sources = {{{x, x, {}}}, {}};
    program.transfers = {{"there", 0, 1, twice}, {"back", 1, 0, graph.node(second).output()}};
    program.steps = {
        {{StepKind::compute, first, 0}, {StepKind::send, {}, 0}, {StepKind::receive, {}, 1}},
        {{StepKind::receive, {}, 0}, {StepKind::compute, second, 0}, {StepKind::send, {}, 1}}};
  }
};

TEST(StepOrder, RanksWaitForWhatTheyReceive) {
  const TwoRanks two;
  const auto order = step_order(two.program);
  ASSERT_TRUE(order);
  std::vector<std::size_t> ranks;
  for (const RankStep& step : *order) ranks.push_back(step.rank);
  EXPECT_EQ(ranks, (std::vector<std::size_t>{0, 0, 1, 1, 1, 0}));
}

TEST(StepOrder, RanksThatWaitForEachOtherAreAnErrorThatNamesChannels) {
  TwoRanks two;
  std::swap(two.program.steps[0][1], two.program.steps[0][2]);
  const auto order = step_order(two.program);
  ASSERT_FALSE(order);
  EXPECT_NE(order.error().message.find("rank 0 for channel 'back' from rank 1"), std::string::npos)
      << order.error().message;
}

clusters::Cluster two_devices() {
  clusters::Cluster cluster;
  cluster.devices = {{"cpu", 1e9}, {"cpu", 1e9}};
  cluster.switches = {"switch"};
  cluster.links = {{0, 2, 1e-3, 1e6}, {1, 2, 2e-3, 5e5}};
  return cluster;
}

TEST(Paths, AddUpLatenciesAndTakeTheLeastBandwidth) {
  const Paths paths(two_devices());
  EXPECT_DOUBLE_EQ(paths.latency(0, 1), 3e-3);
  EXPECT_DOUBLE_EQ(paths.seconds_per_byte(1, 0), 2e-6);
  EXPECT_DOUBLE_EQ(paths.seconds(0, 1, 1000), 5e-3);
  EXPECT_DOUBLE_EQ(paths.seconds(1, 1, 1000), 0);
}

TEST(Simulation, AddsUpOperatorsAndMessagesThatWaitForEachOther) {
  const TwoRanks two;
  const auto device = load_device("targets/devices/cpu.json");
  ASSERT_TRUE(device);
  const OperatorCosts costs(priced_by_roofline(*device));
  NodePrices prices(costs);
  const Graph& graph = two.program.program.graph;
  const auto price = [&](NodeId id) {
    const Node& node = graph.node(id);
    return prices(node, node.attributes, graph.input_types(node));
  };
  const auto simulation = simulate(two.program, Paths(two_devices()), prices);
  ASSERT_TRUE(simulation);
  const double message = 3e-3 + 4000 * 2e-6;
  EXPECT_NEAR(simulation->seconds, price(two.first) + price(two.second) + 2 * message, 1e-12);
  EXPECT_EQ(simulation->busy, (std::vector<double>{price(two.first), price(two.second)}));
  EXPECT_EQ(simulation->sent_bytes, (std::vector<double>{4000, 4000}));
  // x and what is made of it; what is received and what is made of it.
  EXPECT_EQ(simulation->peak_bytes, (std::vector<double>{8000, 8000}));
}

TEST(ThreadRanks, MessagesOfAChannelKeepTheirOrder) {
  std::array<std::byte, 2> received{};
  const auto done = run_as_threads(2, [&](Communicator& communicator) -> Result<void> {
    for (std::uint32_t i = 0; i < 2; ++i) {
      const std::byte sent{static_cast<unsigned char>(i + 1)};
      // The channels are received in the other order than they are sent.
      if (communicator.rank() == 0)
        LEMMA_RETURN_IF_ERROR(communicator.send(1, i, std::span(&sent, 1)));
      else
        LEMMA_RETURN_IF_ERROR(communicator.receive(0, 1 - i, std::span(&received[i], 1)));
    }
    EXPECT_EQ(communicator.messages(), communicator.rank() == 0 ? 2U : 0U);
    return {};
  });
  ASSERT_TRUE(done);
  EXPECT_EQ(received[0], std::byte{2});
  EXPECT_EQ(received[1], std::byte{1});
}

TEST(ThreadRanks, ARankThatFailsEndsThoseThatWaitForIt) {
  const auto done = run_as_threads(2, [](Communicator& communicator) -> Result<void> {
    if (communicator.rank() == 0) return bad_input("rank 0 fails");
    std::byte received{};
    return communicator.receive(0, 0, std::span(&received, 1));
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "rank 0 has ended: rank 0 fails");
}

TEST(Outputs, PartsOfAGridMakeUpTheWhole) {
  Graph single;
  const ValueId y = *single.add_input("x", {DataType::f32, Shape{Dimension(4), Dimension(6)}});
  ASSERT_TRUE(single.add_output("y", y));
  RankedProgram program;
  Graph& graph = program.program.graph;
  const TensorType part{DataType::f32, Shape{Dimension(2), Dimension(3)}};
  for (std::int64_t i = 0; i < 4; ++i)
    program.outputs.push_back({"y",
                               static_cast<std::size_t>(i),
                               *graph.add_input(std::to_string(i), part),
                               {{i / 2 * 2, 2}, {i % 2 * 3, 3}}});
  RankedProgram missing = program;
  ASSERT_TRUE(add_outputs(program, single));
  EXPECT_EQ(program.program.graph.type(program.program.graph.outputs()[0].value), single.type(y));
  missing.outputs[3].window[1].begin = 4;
  const auto result = add_outputs(missing, single);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("axis 1"), std::string::npos) << result.error().message;
}

TEST(Window, OfADeviceOfAGrid) {
  const Mesh mesh = {{{"a", 2}, {"b", 3}}};
  const Placement placement = {{Sharing::parted, 0}, {Sharing::parted, 0}};
  EXPECT_EQ(window_of(placement, mesh, 4, {12, 5}), (Window{{8, 2}, {0, 5}}));
  EXPECT_EQ(window_of(replicated(mesh), mesh, 4, {12, 5}), Window{});
  EXPECT_EQ(text({{8, 2}, {0, 5}}, {12, 5}), "8 to 10 of axis 0");
}

}  // namespace
}  // namespace lemma::plans
