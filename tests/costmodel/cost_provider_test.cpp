// Keys, and chains of providers that collect what they miss.

#include <thread>

#include <gtest/gtest.h>

#include "costmodel/graph_cost.h"
#include "ir/graph_text.h"

namespace lemma {
namespace {

PricedDevice target() {
  Device device;
  device.name = "table";
  device.contraction_peak = {{DataType::f32, 1e9}};
  device.elementwise_peak = {{DataType::f32, 1e9}};
  device.memory_bandwidth = 1e9;
  device.launch_overhead = 1e-6;
  return priced_by_roofline(device);
}

class Table : public CostProvider {
 public:
  explicit Table(std::map<std::string, double> seconds) : seconds_(std::move(seconds)) {}
  std::optional<Cost> find(const CostKey& key) const override {
    const auto found = seconds_.find(std::string(key.op->name));
    if (found == seconds_.end()) return std::nullopt;
    return Cost{found->second, 0, Provenance::measured};
  }

 private:
  std::map<std::string, double> seconds_;
};

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return std::move(*graph);
}

constexpr std::string_view network = R"(graph "g"
  input %0 "x" : f32[8, N]
  %1 = constant f32[4] [1, 2, 3, 4]
  %2 = Relu(%0)
  %3 = Exp(%0)
  %4 = Add(%2, %3)
  %5 = Tanh(%1)
  output "y" = %4
  output "z" = %5
)";

TEST(CostKey, SaysAllThatACostDependsOn) {
  const OperatorCosts costs(target(), {}, {.otherwise = 5});
  const TensorType x{DataType::f32, Shape{Dimension(2), Dimension::symbol("N")}};
  const TensorType w{DataType::f32, Shape{Dimension::symbol("N"), Dimension(3)}};
  const TensorType y{DataType::f32, Shape{Dimension(2), Dimension(3)}};
  const OperatorRecord& product = record(operator_named("MatMul"));
  const Attributes none;
  const std::vector<TensorType> inputs = {x, w}, outputs = {y};
  EXPECT_EQ(text(costs.key(product, {inputs, none, 1}, outputs, {false, true})),
            "MatMul f32[2, 5], constant f32[5, 3] -> f32[2, 3] on roofline/table, 0 threads");
  // Other sizes, other constants: another key.
  const OperatorCosts larger = costs.with_sizes({.otherwise = 6});
  EXPECT_NE(text(costs.key(product, {inputs, none, 1}, outputs, {})),
            text(larger.key(product, {inputs, none, 1}, outputs, {})));
  EXPECT_NE(text(costs.key(product, {inputs, none, 1}, outputs, {})),
            text(costs.key(product, {inputs, none, 1}, outputs, {false, true})));
}

TEST(ProviderChain, TakesTheFirstAnswerAndCollectsWhatTheFirstDoesNotKnow) {
  const auto first = std::make_shared<Table>(std::map<std::string, double>{{"Relu", 7.0}});
  const auto second =
      std::make_shared<Table>(std::map<std::string, double>{{"Relu", 1.0}, {"Exp", 3.0}});
  const OperatorCosts costs(target(), {first, second});
  const GraphCost cost = cost_of(parsed(network), costs);
  EXPECT_NEAR(cost.seconds, 7 + 3, 0.01);  // and the sum, from the device
  EXPECT_EQ(cost.provenance, Provenance::analytic);
  const auto misses = costs.misses();
  ASSERT_EQ(misses.size(), 2U);
  EXPECT_EQ(misses[0].key.op->name, "Exp");
  EXPECT_EQ(misses[0].seconds, 3);
  EXPECT_EQ(misses[1].key.op->name, "Add");
  EXPECT_GT(misses[1].seconds, 0);
}

TEST(ProviderChain, SaysThatAllWasMeasured) {
  const auto table = std::make_shared<Table>(
      std::map<std::string, double>{{"Relu", 1.0}, {"Exp", 1.0}, {"Add", 1.0}});
  const OperatorCosts costs(target(), {table});
  const GraphCost cost = cost_of(parsed(network), costs);
  EXPECT_EQ(cost.seconds, 3);
  EXPECT_EQ(cost.provenance, Provenance::measured);
  EXPECT_TRUE(costs.misses().empty());
}

TEST(ProviderChain, IsAskedFromSeveralThreads) {
  const OperatorCosts costs(target(), {std::make_shared<Table>(std::map<std::string, double>{})});
  const Graph graph = parsed(network);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&costs, &graph] {
      for (int k = 0; k < 200; ++k) (void)cost_of(graph, costs);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(costs.misses().size(), 3U);
}

}  // namespace
}  // namespace lemma
