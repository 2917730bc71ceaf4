#include <gtest/gtest.h>

#include "profiler/node_measurement.h"

namespace lemma {
namespace {

ProfileEntry entry(const std::string& key, double work, double seconds) {
  return {key, key.substr(0, key.find('{')), work,        work, seconds, 0,
          10,  Provenance::measured,         "2026-11-22"};
}

RuntimeNode node(const std::string& key, double work) {
  RuntimeNode result;
  result.key = key;
  result.kind = key.substr(0, key.find('{'));
  result.elements = result.work = work;
  return result;
}

TEST(NodeTimes, WhatWasMeasuredIsFound) {
  const NodeTimes times({entry("Relu{} f32[8]", 8, 1e-6)});
  const auto cost = times.find(node("Relu{} f32[8]", 8));
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->seconds, 1e-6);
  EXPECT_EQ(cost->provenance, Provenance::measured);
}

TEST(NodeTimes, OtherSizesAreInterpolated) {
  const NodeTimes times(
      {entry("Relu{} f32[1000]", 1000, 1e-6), entry("Relu{} f32[4000]", 4000, 4e-6)});
  const auto cost = times.find(node("Relu{} f32[2000]", 2000));
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->seconds, 2e-6, 3e-7);
  EXPECT_EQ(cost->provenance, Provenance::interpolated);
  EXPECT_GT(cost->spread, 0);
}

TEST(NodeTimes, AKindWithoutTimesTakesThoseOfItsFamily) {
  const NodeTimes times({entry("Relu{} f32[8]", 8, 1e-6), entry("run", 8, 1)});
  const auto cost = times.find(node("Tanh{} f32[8]", 8));
  ASSERT_TRUE(cost);
  EXPECT_DOUBLE_EQ(cost->seconds, 1e-6);
  EXPECT_EQ(cost->provenance, Provenance::interpolated);
  EXPECT_FALSE(times.find(node("MatMul{} f32[8]", 8)));
  EXPECT_FALSE(times.find(node("Tanh{} f32[8]", 8), 3));  // only the kind counts
}

// Its own kind was measured at a size that says little.
TEST(NodeTimes, AnotherKindOfTheSizeCountsMoreThanTheSameFarAway) {
  const NodeTimes times(
      {entry("FusedConv{} f32[8]", 8, 1e-6), entry("Conv{} f32[1000000]", 1e6, 1e-3)});
  const double seconds = times.find(node("FusedConv{} f32[1000001]", 1e6))->seconds;
  EXPECT_NEAR(seconds, 1e-3, 4e-4);
  // At its own size the kind decides.
  EXPECT_NEAR(times.find(node("FusedConv{} f32[9]", 8))->seconds, 1e-6, 1e-7);
}

TEST(NodeTimes, WeightsInACacheArriveFasterThanThoseInMemory) {
  const NodeTimes times({entry("Gemm{} f32[8], weights among 128 MB", 1e5, 4e-5)});
  RuntimeNode product = node("Gemm{} f32[8]", 1e5);
  EXPECT_NEAR(times.find(product)->seconds, 1e-5, 2e-6);
  product.weights = {1U << 27U};
  EXPECT_NEAR(times.find(product)->seconds, 4e-5, 2e-6);
}

TEST(NodeTimes, WeightsThatAreFarAwayTakeTheirTime) {
  const NodeTimes times({entry("MatMul{} f32[8]", 1e6, 1e-5)});
  RuntimeNode far = node("MatMul{} f32[9]", 1e6);
  far.weight_bytes = 4e6;
  EXPECT_LT(times.find(far)->seconds, 2e-5);
  far.weights = {1U << 27U};
  EXPECT_GE(times.find(far)->seconds, 1e-4);
}

TEST(NodeTimes, WorkCountsTheMultiplicationsOfConvolutions) {
  RuntimeNode conv;
  conv.kind = "com.microsoft.nchwc:Conv";
  conv.inputs = {{DataType::f32, {1, 32, 8, 8}, false, "", {}},
                 {DataType::f32, {64, 16, 3, 3}, true, "", {}}};  // in two groups
  conv.outputs = {{DataType::f32, {1, 64, 8, 8}, false, "", {}}};
  measure_size(conv);
  EXPECT_EQ(conv.work, 64 * 8 * 8 * 16 * 3 * 3);
  EXPECT_EQ(conv.elements, 32 * 64 + 64 * 16 * 9 + 64 * 64);
  conv.kind = "Add";
  measure_size(conv);
  EXPECT_EQ(conv.work, conv.elements);
}

TEST(NodeTimes, KeysAreHeldOut) {
  const NodeTimes times({entry("Relu{} f32[8]", 8, 1e-6), entry("Relu{} f32[16]", 16, 9e-6)});
  const auto cost = times.without({"Relu{} f32[16]"}).find(node("Relu{} f32[16]", 16));
  ASSERT_TRUE(cost);
  EXPECT_LT(cost->seconds, 3e-6);
}

TEST(NodeTimes, ThePriceOfAGraphIsTheSumAndCountsWhatIsUnknown) {
  const NodeTimes times({entry("Relu{} f32[8]", 8, 1e-6), entry("run", 0, 5e-6)});
  RuntimeGraph graph;
  graph.nodes = {node("Relu{} f32[8]", 8), node("Relu{} f32[8]", 8), node("MatMul{} f32[8]", 8)};
  graph.unpriced = 1;
  const GraphPrice price = price_of(graph, times);
  EXPECT_DOUBLE_EQ(price.cost.seconds, 7e-6);
  EXPECT_EQ(price.unknown, 2U);
}

}  // namespace
}  // namespace lemma
