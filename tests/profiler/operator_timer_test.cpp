// Timers of operators: what they keep, what they name, when they stop.

#include "profiler/operator_timer.h"

#include <gtest/gtest.h>

#include "profiler/operator_measurement.h"
#include "profiler/single_operator.h"
#include "tests/profiler/cost_keys.h"

namespace lemma {
namespace {

const CostKey relu = key_of("Relu", {matrix(4, 8)}, matrix(4, 8));
const CostKey sigmoid = key_of("Sigmoid", {matrix(4, 8)}, matrix(4, 8));
const CostKey product = key_of("MatMul", {matrix(4, 8), matrix(8, 2)}, matrix(4, 2), {false, true});

/// Takes a microsecond for all but Sigmoid, which it cannot run.
class MadeUpTimer : public DirectTimer {
 public:
  explicit MadeUpTimer(std::string runtime) : runtime_(std::move(runtime)) {}
  Result<RuntimeIdentity> identity() override { return RuntimeIdentity{runtime_, "processor", 1}; }
  int asked = 0;

 protected:
  Result<OperatorTime> time(const CostKey& key, WeightPlace /*weights*/,
                            const MeasurementOptions& /*options*/) override {
    ++asked;
    if (key.op->name == std::string_view("Sigmoid")) return unsupported("no kernel");
    return OperatorTime{1e-6, 1e-8, 12};
  }
  std::optional<OperatorTime> time_of_run() const override { return OperatorTime{3e-6, 0, 12}; }

 private:
  std::string runtime_;
};

TEST(DirectTimer, KeepsWhatItMeasuresAndNamesWhatItCannot) {
  auto database = ProfileDatabase::open(":memory:");
  ASSERT_TRUE(database);
  MadeUpTimer timer("a");
  NodeTimes times{{}};
  MeasurementOptions options;
  options.date = "2026-11-23";
  std::vector<std::string> refused;
  options.on_refusal = [&refused](const CostKey& key, const std::string& why) {
    refused.push_back(std::string(key.op->name) + ": " + why);
  };
  const std::vector<CostKey> keys = {product, sigmoid, relu};
  EXPECT_EQ(timer.measure(*database, keys, {}, times, options), 2U);
  EXPECT_EQ(refused, std::vector<std::string>{"Sigmoid: no kernel"});
  EXPECT_EQ(times.find(profiled_operator(relu, {}))->seconds, 1e-6);
  EXPECT_EQ(times.run_seconds(), 3e-6);
  // What is known is not measured again; what was refused is asked again.
  EXPECT_EQ(timer.measure(*database, keys, {}, times, options), 0U);
  EXPECT_EQ(timer.asked, 4);
  const auto kept = database->entries(*timer.identity());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->size(), 3U);
}

TEST(DirectTimer, StopsBetweenTwoApplications) {
  auto database = ProfileDatabase::open(":memory:");
  ASSERT_TRUE(database);
  MadeUpTimer timer("a");
  NodeTimes times{{}};
  MeasurementOptions options;
  options.is_interrupted = [&timer] { return timer.asked == 1; };
  EXPECT_EQ(timer.measure(*database, {product, relu}, {}, times, options), 1U);
  EXPECT_EQ(database->entries(*timer.identity())->size(), 2U);  // with what a run takes
}

TEST(DirectTimer, TimesOfOneTargetSayNothingOfAnother) {
  auto database = ProfileDatabase::open(":memory:");
  ASSERT_TRUE(database);
  MadeUpTimer first("task programs 1"), second("ONNX Runtime 1");
  NodeTimes of_first{{}}, of_second{{}};
  EXPECT_EQ(first.measure(*database, {relu, product}, {}, of_first, {}), 2U);
  EXPECT_TRUE(database->entries(*second.identity())->empty());
  EXPECT_EQ(second.measure(*database, {relu}, {}, of_second, {}), 1U);
  EXPECT_EQ(database->entries(*first.identity())->size(), 3U);
  EXPECT_EQ(database->entries(*second.identity())->size(), 2U);
  auto other = ProfileDatabase::open(":memory:");
  ASSERT_TRUE(other);
  const std::string text = *database->export_json();
  EXPECT_EQ(other->import_json(text, Provenance::measured), 5U);
  EXPECT_EQ(*other->export_json(), text);
}

TEST(SingleOperator, HasOperandsThatAreKnownAsConstants) {
  const auto single = single_operator(product);
  ASSERT_TRUE(single);
  EXPECT_EQ(single->inputs.size(), 1U);
  EXPECT_EQ(single->inputs[0].name, "in_0");
  EXPECT_EQ(single->graph.outputs().size(), 1U);
}

TEST(SingleOperator, ViewsAndUnknownSizesHaveNoTime) {
  EXPECT_TRUE(has_times(relu));
  CostKey unfit = relu;
  unfit.sizes_fit = false;
  EXPECT_FALSE(has_times(unfit));
  EXPECT_FALSE(has_times(key_of("Relu", {matrix(0, 8)}, matrix(0, 8))));
}

}  // namespace
}  // namespace lemma
