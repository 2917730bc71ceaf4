#include "costmodel/graph_cost.h"
#include "tests/ir/parsed_graph.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma {
namespace {

using testing::parsed;

/// Round figures: 1 flop and 1 byte a nanosecond, a microsecond to start.
Device simple_device() {
  Device device;
  device.name = "simple";
  device.contraction_peak = {{DataType::f32, 1e9}};
  device.elementwise_peak = {{DataType::f32, 1e9}};
  device.memory_bandwidth = 1e9;
  device.launch_overhead = 1e-6;
  return device;
}

TEST(Roofline, MatMulIsComputeBoundAndAddMemoryBound) {
  const OperatorCosts costs(priced_by_roofline(simple_device()));
  const GraphCost product = cost_of(parsed(R"(graph "g"
  input %0 "a" : f32[64, 64]
  input %1 "b" : f32[64, 64]
  %2 = MatMul(%0, %1)
  output "c" = %2
)"),
                                    costs);
  EXPECT_DOUBLE_EQ(product.flops, 2.0 * 64 * 64 * 64);
  EXPECT_DOUBLE_EQ(product.bytes, 3.0 * 64 * 64 * 4);
  EXPECT_NEAR(product.seconds, 1e-6 + 2.0 * 64 * 64 * 64 * 1e-9, 1e-12);
  const GraphCost sum = cost_of(parsed(R"(graph "g"
  input %0 "a" : f32[64, 64]
  input %1 "b" : f32[64, 64]
  %2 = Add(%0, %1)
  output "c" = %2
)"),
                                costs);
  EXPECT_DOUBLE_EQ(sum.flops, 64.0 * 64);
  EXPECT_NEAR(sum.seconds, 1e-6 + 3.0 * 64 * 64 * 4 * 1e-9, 1e-12);
}

TEST(Roofline, ViewsCostWhatTheDeviceSaysAndWeightOnlyNodesNothing) {
  const OperatorCosts costs(priced_by_roofline(simple_device()));
  const GraphCost cost = cost_of(parsed(R"(graph "g"
  input %0 "a" : f32[2, 3]
  %1 = constant f32[6] [1, 2, 3, 4, 5, 6]
  %2 = Mul(%1, %1)
  %3 = Reshape{shape=[6]}(%0)
  output "c" = %3
  output "d" = %2
)"),
                                 costs);
  EXPECT_EQ(cost.seconds, 0);
  EXPECT_EQ(cost.operators, 1);
}

TEST(Roofline, SlowFormsTakeLonger) {
  const std::string_view text = R"(graph "g"
  input %0 "x" : f32[1, 16, 64]
  input %1 "w" : f32[16, 16, 3]
  %2 = Conv{strides=[1], pads=[1, 1], dilations=[1], group=1}(%0, %1)
  output "y" = %2
)";
  Device device = simple_device();
  const double before = cost_of(parsed(text), OperatorCosts(priced_by_roofline(device))).seconds;
  device.slow_forms = {{"Conv", 4, 3}, {"Conv", 3, 2}, {"MatMul", 3, 5}};
  const double after = cost_of(parsed(text), OperatorCosts(priced_by_roofline(device))).seconds;
  EXPECT_NEAR(after - device.launch_overhead, 2 * (before - device.launch_overhead), 1e-12);
}

// A form that asks for a type, a kernel and attributes is that of one of the convolutions only.
TEST(Roofline, FormsMayAskForAKernelAndAttributes) {
  Device device = simple_device();
  device.slow_forms = {
      {"Conv", 4, 0.5, DataType::f32, {3, 3}, {{"dilations", {1, 1}}, {"group", {1}}}}};
  const auto seconds = [&](std::string_view kernel, std::string_view type, int dilation) {
    const std::string text = fmt::format(R"(graph "g"
  input %0 "x" : {1}[1, 16, 64, 64]
  input %1 "w" : {1}[16, 16, {0}]
  %2 = Conv{{strides=[1, 1], pads=[0, 0, 0, 0], dilations=[{2}, {2}], group=1}}(%0, %1)
  output "y" = %2
)",
                                         kernel, type, dilation);
    Device plain = device;
    plain.slow_forms.clear();
    const auto cost = [&](const Device& of) {
      return cost_of(parsed(text), OperatorCosts(priced_by_roofline(of))).seconds -
             of.launch_overhead;
    };
    return cost(device) / cost(plain);
  };
  EXPECT_NEAR(seconds("3, 3", "f32", 1), 0.5, 1e-9);
  EXPECT_NEAR(seconds("3, 3", "f32", 2), 1, 1e-9);
  EXPECT_NEAR(seconds("3, 5", "f32", 1), 1, 1e-9);
  EXPECT_NEAR(seconds("3, 3", "f64", 1), 1, 1e-9);
}

TEST(Roofline, SymbolicSizesAreAssumed) {
  const std::string_view text = R"(graph "g"
  input %0 "a" : f32[N, 10]
  %1 = Relu(%0)
  output "c" = %1
)";
  const GraphCost assumed = cost_of(
      parsed(text), OperatorCosts(priced_by_roofline(simple_device()), {}, {.otherwise = 7}));
  EXPECT_DOUBLE_EQ(assumed.bytes, 2.0 * 70 * 4);
  const GraphCost given = cost_of(
      parsed(text),
      OperatorCosts(priced_by_roofline(simple_device()), {}, {.named = {{"N", Dimension(3)}}}));
  EXPECT_DOUBLE_EQ(given.bytes, 2.0 * 30 * 4);
}

TEST(Device, ShippedDescriptionsLoad) {
  for (const char* name :
       {"cpu", "cuda", "onnxruntime-cpu", "h100", "h200", "a100", "v100", "v100-2019", "k80",
        "p100", "t4", "a10", "l4", "b200", "b300", "rtx5090"}) {
    const auto device =
        load_device(std::filesystem::path("targets/devices") / (std::string(name) + ".json"));
    ASSERT_TRUE(device.has_value()) << device.error().message;
    EXPECT_GT(device->contraction(DataType::f32), 0);
    EXPECT_FALSE(device->source.empty());
  }
}

TEST(Device, AMalformedDescriptionIsRefusedWithItsEntry) {
  const auto file = std::filesystem::temp_directory_path() / "lemma_device_test.json";
  std::ofstream(file) << R"({"name": "x", "contraction_flops_per_second": {"f32": -1}})";
  const auto device = load_device(file);
  ASSERT_FALSE(device.has_value());
  EXPECT_NE(device.error().message.find("contraction_flops_per_second"), std::string::npos);
  std::ifstream shipped("targets/devices/onnxruntime-cpu.json");
  std::string text(std::istreambuf_iterator<char>(shipped), {});
  const std::string key = "\"rank\": 3";
  std::ofstream(file) << text.replace(text.find(key), key.size(), "\"rank\": -3");
  const auto other = load_device(file);
  std::filesystem::remove(file);
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("slow_forms"), std::string::npos);
}

}  // namespace
}  // namespace lemma
