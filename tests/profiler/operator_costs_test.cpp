// Measured times of operators as costs: what is found, what is near enough, what is repeated.

#include <gtest/gtest.h>

#include "costmodel/operator_costs.h"
#include "costmodel/roofline.h"
#include "profiler/operator_measurement.h"

namespace lemma {
namespace {

OperatorCosts base() {
  Device device;
  device.name = "test";
  device.contraction_peak[DataType::f32] = device.elementwise_peak[DataType::f32] = 1e9;
  device.memory_bandwidth = 1e9;
  device.launch_overhead = 1e-6;
  return OperatorCosts(priced_by_roofline(device));
}

TensorType matrix(std::int64_t rows, std::int64_t columns) {
  return {DataType::f32, Shape{Dimension(rows), Dimension(columns)}};
}

CostKey key_of(std::string_view op, std::vector<TensorType> inputs, TensorType output,
               std::vector<bool> constant = {}) {
  const Attributes none;
  const std::vector<TensorType> outputs = {std::move(output)};
  return base().key(record(operator_named(op)), {inputs, none, 1}, outputs, std::move(constant));
}

ProfileEntry entry_of(const CostKey& key, double seconds, WeightPlace weights = {},
                      Provenance provenance = Provenance::measured) {
  const RuntimeNode node = profiled_operator(key, weights);
  return {node.key, node.kind, node.elements, node.work, seconds, 0, 1, provenance, "2026-11-22"};
}

const CostKey relu = key_of("Relu", {matrix(64, 64)}, matrix(64, 64));

TEST(MeasuredCosts, AnswerForWhatWasMeasured) {
  const MeasuredCosts costs(NodeTimes({entry_of(relu, 3e-6)}), WeightPlace{});
  const auto cost = costs.find(relu);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->seconds, 3e-6);
  EXPECT_EQ(cost->provenance, Provenance::measured);
}

TEST(MeasuredCosts, NearSizesAreInterpolatedAndFarOnesAreNotKnown) {
  const MeasuredCosts costs(NodeTimes({entry_of(relu, 3e-6)}), WeightPlace{});
  const auto near = costs.find(key_of("Relu", {matrix(64, 128)}, matrix(64, 128)));
  ASSERT_TRUE(near);
  EXPECT_EQ(near->provenance, Provenance::interpolated);
  EXPECT_GT(near->seconds, 3e-6);
  EXPECT_FALSE(costs.find(key_of("Relu", {matrix(4096, 4096)}, matrix(4096, 4096))));
  EXPECT_FALSE(costs.find(key_of("Sigmoid", {matrix(64, 64)}, matrix(64, 64))));
}

TEST(MeasuredCosts, BetweenTimesFromElsewhereNothingIsKnownBetter) {
  const MeasuredCosts costs(
      NodeTimes({entry_of(relu, 3e-6, WeightPlace{}, Provenance::measured_elsewhere)}),
      WeightPlace{});
  EXPECT_EQ(costs.find(relu)->provenance, Provenance::measured_elsewhere);
  EXPECT_EQ(costs.find(key_of("Relu", {matrix(64, 128)}, matrix(64, 128)))->provenance,
            Provenance::measured_elsewhere);
}

TEST(MeasuredCosts, ViewsAndUnknownSizesAreLeftToOthers) {
  const Attributes shape = {{"shape", Shape{Dimension(4096)}}};
  const std::vector<TensorType> inputs = {matrix(64, 64)};
  const std::vector<TensorType> outputs = {{DataType::f32, Shape{Dimension(4096)}}};
  const CostKey reshape =
      base().key(record(operator_named("Reshape")), {inputs, shape, 1}, outputs, {});
  const MeasuredCosts costs(NodeTimes({entry_of(reshape, 3e-6)}), WeightPlace{});
  EXPECT_FALSE(costs.find(reshape));
  CostKey unfit = relu;
  unfit.sizes_fit = false;
  EXPECT_FALSE(MeasuredCosts(NodeTimes({entry_of(relu, 1)}), WeightPlace{}).find(unfit));
}

TEST(MeasuredCosts, TheKeyTellsWhereLargeWeightsAre) {
  const CostKey product =
      key_of("MatMul", {matrix(8, 128), matrix(128, 128)}, matrix(8, 128), {false, true});
  EXPECT_NE(profiled_operator(product, WeightPlace{}).key,
            profiled_operator(product, WeightPlace{1U << 27U}).key);
  EXPECT_EQ(profiled_operator(relu, WeightPlace{}).key,
            profiled_operator(relu, WeightPlace{1U << 27U}).key);
  const CostKey two_inputs = key_of("MatMul", {matrix(8, 128), matrix(128, 128)}, matrix(8, 128));
  EXPECT_NE(profiled_operator(product, WeightPlace{}).key,
            profiled_operator(two_inputs, WeightPlace{}).key);
}

TEST(MeasuredCosts, WeightsThatFitIntoTheSecondCacheStayNear) {
  EXPECT_TRUE(weight_place(1e6, 2e6).is_near());
  EXPECT_EQ(weight_place(3e6, 2e6).among_bytes, 4U << 20U);
  EXPECT_EQ(weight_place(83.9e6, 2e6).among_bytes, 128U << 20U);
}

TEST(MeasuredCosts, TheirAnswersCanBeRepeated) {
  const auto measured =
      std::make_shared<const MeasuredCosts>(NodeTimes({entry_of(relu, 3e-6)}), WeightPlace{});
  const CostKey near = key_of("Relu", {matrix(64, 128)}, matrix(64, 128));
  const CostKey far = key_of("Sigmoid", {matrix(64, 64)}, matrix(64, 64));
  const OperatorCosts costs = base().behind({measured});
  const OperatorCosts again = [&] {
    for (const CostKey& key : {relu, near, far}) (void)costs.find(key);
    return base().behind({std::make_shared<const ReplayedCosts>(measured->recorded())});
  }();
  for (const CostKey& key : {relu, near, far}) {
    EXPECT_EQ(again.find(key).seconds, costs.find(key).seconds);
    EXPECT_EQ(again.find(key).provenance, costs.find(key).provenance);
  }
  EXPECT_EQ(costs.find(far).provenance, Provenance::analytic);
}

TEST(MeasuredCosts, DoNotDecideAboutRulesInGeneral) {
  const auto measured =
      std::make_shared<const MeasuredCosts>(NodeTimes({entry_of(relu, 3)}), WeightPlace{});
  const OperatorCosts costs = base().behind({measured});
  EXPECT_EQ(costs.find(relu).seconds, 3);
  EXPECT_LT(costs.with_sizes({.otherwise = 64}).find(relu).seconds, 1);
}

}  // namespace
}  // namespace lemma
