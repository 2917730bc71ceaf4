// Task programs as a target of costs: rounds of timing, operators by themselves, whole models. No result depends on how
// long anything takes.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "backend/compile/compile.h"
#include "backend/execute/code_digest.h"
#include "backend/execute/prepared_graph.h"
#include "backend/execute/program_times.h"
#include "backend/execute/rounds.h"
#include "backend/execute/timing_lock.h"
#include "frontend_onnx/export.h"
#include "outputs/scratch.h"
#include "profiler/operator_measurement.h"
#include "profiler/single_operator.h"
#include "system/program.h"
#include "tests/profiler/cost_keys.h"

namespace lemma::backend {
namespace {

TEST(Rounds, EachRunsInEachRound) {
  int first = 0, second = 0;
  RoundOptions options;
  options.rounds = 5;
  options.block_seconds = 0;
  const auto seconds = time_in_rounds({[&first]() -> Result<void> {
                                         ++first;
                                         return {};
                                       },
                                       [&second]() -> Result<void> {
                                         ++second;
                                         return {};
                                       }},
                                      options);
  ASSERT_TRUE(seconds);
  ASSERT_EQ(seconds->size(), 2U);
  EXPECT_EQ((*seconds)[0].size(), 5U);
  EXPECT_EQ((*seconds)[1].size(), 5U);
  EXPECT_GE(first, 5);
  EXPECT_EQ(first, second);
}

TEST(Rounds, WithoutTimeThereAreTheLeast) {
  RoundOptions options;
  options.rounds = 50;
  options.seconds = -1;
  options.least_rounds = 3;
  const auto seconds = time_in_rounds({[]() -> Result<void> { return {}; }}, options);
  ASSERT_TRUE(seconds);
  EXPECT_EQ(seconds->front().size(), 3U);
}

TEST(Rounds, AFailingRunIsAnError) {
  const auto seconds =
      time_in_rounds({[]() -> Result<void> { return bad_input("broken"); }}, RoundOptions{});
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().message, "broken");
}

class Built : public testing::Test {
 protected:
  void SetUp() override {
    auto builder = ProgramBuilder::create(folder_.path());
    if (!builder) GTEST_SKIP() << builder.error().message;
    builder_ = std::make_shared<const ProgramBuilder>(std::move(*builder));
  }
  std::size_t libraries() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      count += entry.path().filename() == "program.so" ? 1 : 0;
    return count;
  }

  const CostKey first_ = key_of("Relu", {matrix(4, 8)}, matrix(4, 8));
  const CostKey second_ = key_of("Sigmoid", {matrix(4, 8)}, matrix(4, 8));
  TemporaryDirectory folder_;
  std::shared_ptr<const ProgramBuilder> builder_;
};

TEST_F(Built, TheIdentitySaysWhatCodeIsMadeBy) {
  TaskProgramOperators one(builder_, 1), two(builder_, 2);
  const auto identity = one.identity();
  ASSERT_TRUE(identity);
  EXPECT_TRUE(identity->runtime.starts_with(task_program_runtime));
  EXPECT_NE(identity->runtime.find(code_digest), std::string::npos);
  EXPECT_NE(identity->runtime.find("-march=native"), std::string::npos);
  EXPECT_EQ(identity->threads, 1);
  EXPECT_NE(*identity, *two.identity());
}

TEST_F(Built, AnOperatorIsBuiltOnceAndTimed) {
  auto database = ProfileDatabase::open(":memory:");
  ASSERT_TRUE(database);
  const std::vector<CostKey> keys = {
      key_of("MatMul", {matrix(4, 64), matrix(64, 80)}, matrix(4, 80), {false, true})};
  // The weights count as far away: several instances share one library.
  const WeightPlace far{1U << 20U};
  for (int attempt = 0; attempt < 2; ++attempt) {
    TaskProgramOperators timer(builder_, 2);
    NodeTimes times{{}};
    const auto measured = timer.measure(*database, keys, far, times, {});
    ASSERT_TRUE(measured) << measured.error().message;
    EXPECT_EQ(*measured, 1U);
    EXPECT_GT(times.find(profiled_operator(keys[0], far))->seconds, 0);
    EXPECT_EQ(libraries(), 2U);  // its own, and the one of the empty program
  }
}

TEST_F(Built, ProgramsOfTheNextOperatorsAreBuiltWithTheFirst) {
  auto database = ProfileDatabase::open(":memory:");
  ASSERT_TRUE(database);
  TaskProgramOperators timer(builder_, 1);
  NodeTimes times{{}};
  MeasurementOptions options;
  std::size_t asked = 0;
  options.is_interrupted = [&] { return times.is_measured(profiled_operator(first_, {}).key); };
  options.on_progress = [&asked](std::size_t, std::size_t) { ++asked; };
  EXPECT_EQ(timer.measure(*database, {first_, second_}, {}, times, options), 1U);
  EXPECT_EQ(asked, 1U);
  // The empty program, that of the first operator, and with two processors that of the second.
  EXPECT_EQ(libraries(), std::thread::hardware_concurrency() > 1 ? 3U : 2U);
}

TEST_F(Built, WhatIsInterruptedWhileItIsBuiltHasNoTime) {
  auto database = ProfileDatabase::open(":memory:");
  ASSERT_TRUE(database);
  TaskProgramOperators timer(builder_, 1);
  NodeTimes times{{}};
  MeasurementOptions options;
  bool begun = false;
  options.is_interrupted = [&begun] { return std::exchange(begun, true); };
  options.on_refusal = [](const CostKey&, const std::string& why) { ADD_FAILURE() << why; };
  const auto measured =
      timer.measure(*database, {key_of("Relu", {matrix(4, 8)}, matrix(4, 8))}, {}, times, options);
  ASSERT_TRUE(measured);
  EXPECT_EQ(*measured, 0U);
  EXPECT_EQ(libraries(), 0U);
}

TEST_F(Built, ADamagedEntryIsMadeAgain) {
  const auto single = single_operator(
      key_of("MatMul", {matrix(4, 64), matrix(64, 80)}, matrix(4, 80), {false, true}));
  ASSERT_TRUE(single);
  const auto graph = program_graph(single->graph, single->inputs);
  ASSERT_TRUE(graph);
  const auto program = compile(*graph, compile_options(1));
  ASSERT_TRUE(program);
  const auto never = [] { return false; };
  const auto folder = builder_->write(*program);
  ASSERT_TRUE(folder);
  ASSERT_TRUE(builder_->build(*folder, never));
  for (const char* const name : {"kernels.h", "schedule.h", "weights.bin", "program.so"}) {
    std::filesystem::resize_file(*folder / name, 10);
    const auto again = builder_->write(*program);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, *folder);
    ASSERT_TRUE(builder_->build(*folder, never));
    EXPECT_GT(std::filesystem::file_size(*folder / name), 10U) << name;
    EXPECT_TRUE(BuiltProgram::open(*folder)) << name;
  }
}

TEST_F(Built, ModelsRunInRounds) {
  std::vector<std::filesystem::path> files;
  std::vector<interpreter::NamedTensor> inputs;
  for (const char* op : {"Relu", "Sigmoid"}) {
    auto single = single_operator(key_of(op, {matrix(4, 8)}, matrix(4, 8)));
    ASSERT_TRUE(single);
    inputs = single->inputs;
    files.push_back(folder_.path() / (std::string(op) + ".onnx"));
    ASSERT_TRUE(export_model({std::move(single->graph), ModelEnvelope::for_operator_set(17)},
                             files.back(), {}));
  }
  files.push_back(folder_.path() / "missing.onnx");
  TaskProgramModels timer(builder_, 1);
  TimingRequest request;
  request.models = files;
  request.inputs = {inputs};
  request.rounds = 4;
  const auto timings = timer.time(request);
  ASSERT_TRUE(timings) << timings.error().message;
  EXPECT_EQ((*timings)[0].seconds.size(), 4U);
  EXPECT_EQ((*timings)[1].seconds.size(), 4U);
  EXPECT_TRUE((*timings)[2].seconds.empty());
  EXPECT_NE((*timings)[2].failure.find("missing.onnx"), std::string::npos);
  request.time_limit_seconds = 0;
  std::filesystem::remove_all(folder_.path() / "task_programs");
  EXPECT_FALSE(timer.time(request));
}

TEST(TimingLock, OneAtATimeButNobodyWaitsForEver) {
  const auto seconds_to_lock = [](double limit) {
    const auto begin = std::chrono::steady_clock::now();
    const TimingLock lock(limit);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const TimingLock first(60);
  EXPECT_GE(seconds_to_lock(0.2), 0.2);
}

TEST(WithoutACompiler, NothingIsMeasuredAndTheReasonIsSaid) {
  TaskProgramOperators operators(nullptr, 1, "there is no C++ compiler");
  ASSERT_FALSE(operators.identity());
  EXPECT_EQ(operators.identity().error().message, "there is no C++ compiler");
  TaskProgramModels models(nullptr, 1);
  EXPECT_FALSE(models.was_available());
  EXPECT_FALSE(models.time({}));
}

}  // namespace
}  // namespace lemma::backend
