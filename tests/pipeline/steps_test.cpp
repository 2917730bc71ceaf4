// The steps of the pipeline, each by itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "costmodel/device.h"
#include "interpreter/random.h"
#include "pipeline/attempt.h"
#include "pipeline/chosen_timers.h"
#include "pipeline/prepared_model.h"
#include "pipeline/taken_branches.h"
#include "tests/frontend_onnx/models.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* header = R"(<ir_version: 8, opset_import: ["" : 17]> g )";
const std::string relu_twice =
    std::string(header) + "(float[4] x) => (float[4] y) { a = Relu(x) y = Relu(a) }";
const std::string one_relu = std::string(header) + "(float[4] x) => (float[4] y) { y = Relu(x) }";
const std::string by_condition =
    std::string(header) +
    "(float[4] x) => (float[4] y) { c = Constant <value = bool {1}> () y = If (c) <then_branch = t "
    "() => (float[4] o) { o = Relu(x) }, else_branch = f () => (float[4] p) { p = Neg(x) }> }";

const RuleDatabase& rules() {
  static const RuleDatabase database = *load_rules("rules");
  return database;
}

const OperatorCosts& costs_of_cpu() {
  static const OperatorCosts costs(priced_by_roofline(*load_device("targets/devices/cpu.json")));
  return costs;
}

/// Times every application alike and counts how often it was asked.
class CountingTimer : public DirectTimer {
 public:
  Result<RuntimeIdentity> identity() override {
    RuntimeIdentity identity;
    identity.runtime = "ONNX Runtime counting";
    identity.threads = 1;
    return identity;
  }
  Result<OperatorTime> time(const CostKey& /*key*/, WeightPlace /*weights*/,
                            const MeasurementOptions& /*options*/) override {
    ++asked;
    return OperatorTime{1e-3, 0, 1};
  }
  int asked = 0;
};

/// A job with its model in a file.
class PipelineSteps : public ::testing::Test {
 protected:
  const Job& job(const std::string& text) {
    frontend::write_file(folder_ / "model.onnx", frontend::parse_text(text).SerializeAsString());
    model_.emplace(*import_model(folder_ / "model.onnx"));
    job_.emplace(Job{*model_,
                     model_->envelope.operator_set(),
                     folder_ / "model.onnx",
                     folder_ / "result.onnx",
                     rules(),
                     replayed_,
                     options_,
                     nullptr,
                     {},
                     0.05});
    return *job_;
  }

  /// What an attempt needs.
  template <typename F>
  auto with_setup(const std::string& text, F use) {
    const Job& given = job(text);
    const auto original = run_original(given, Deadline::after(60));
    const ModelInputs inputs;
    CurrentCosts costs(costs_of_cpu(), given);
    TimingPlan timing;
    const auto growth = FileGrowth::of(given.file, options_);
    Trace trace({}, costs.get());
    const AttemptSetup setup{given, original->reference, inputs, nullptr, costs, timing, *growth,
                             {},    Deadline::after(60), trace};
    return use(setup);
  }

  Attempt attempted(const std::string& text, RoundingClass worst) {
    return with_setup(text,
                      [worst](const AttemptSetup& setup) { return *attempt(setup, worst, false); });
  }

  frontend::TemporaryFolder folder_;
  OptimizeOptions options_;
  ReplayedRules replayed_{rules()};
  std::optional<OnnxModel> model_;
  std::optional<Job> job_;
};

TEST_F(PipelineSteps, ReadingTakesTheBranchOfAConstantCondition) {
  job(by_condition);
  EXPECT_THAT(frontend::kinds_of(model_->graph), ::testing::Not(::testing::Contains("opaque If")));
  frontend::write_file(folder_ / "model.onnx",
                       frontend::parse_text(by_condition).SerializeAsString());
  options_.operator_set = 18;
  const auto prepared = read_and_prepare(folder_ / "model.onnx", folder_ / "result.onnx", rules(),
                                         costs_of_cpu(), options_, Deadline::after(60));
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(prepared->model.envelope.operator_set(), 18);
  EXPECT_EQ(prepared->own_operator_set, 17);
  EXPECT_THAT(prepared->note, IsEmpty());
}

TEST_F(PipelineSteps, TheOriginalIsComputedWithinItsTime) {
  const auto computed = run_original(job(relu_twice), Deadline::after(60));
  ASSERT_TRUE(computed) << computed.error().message;
  EXPECT_FALSE(computed->reference.inputs_for_second_judge(1, {}).empty());
  const auto late = run_original(job(relu_twice), Deadline::after(0));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("time limit"));
}

TEST_F(PipelineSteps, WithoutATargetThatRunsNothingIsTimed) {
  const Job& given = job(relu_twice);
  ChosenTimers timers;
  ASSERT_TRUE(timers.start(given, Deadline::after(60)));
  EXPECT_EQ(timers.operators(), nullptr);
  EXPECT_EQ(timers.models(), nullptr);
  const auto original = run_original(given, Deadline::after(60));
  const ModelInputs inputs = find_inputs(given, original->reference, nullptr, Deadline::after(60));
  EXPECT_TRUE(inputs.values.empty());
  EXPECT_FALSE(inputs.is_not_runnable);
  TimingPlan plan;
  KeptTime kept;
  const CurrentCosts costs(costs_of_cpu(), given);
  plan.prepare(given, inputs, costs, nullptr, 1e-3, Deadline::after(60), kept);
  EXPECT_EQ(plan.evaluator(), nullptr);
  EXPECT_EQ(kept.timing, 0);
  TimingReport report;
  EXPECT_EQ(objection_of_timing(given, given.file, plan, Deadline::after(60), report), "");
}

TEST_F(PipelineSteps, ARepeatedTimingIsThatOfTheReport) {
  options_.timing.replay.emplace();
  options_.timing.replay->state = TimingReport::State::measured;
  options_.timing.replay->before_seconds = 1;
  options_.timing.replay->after_seconds = 2;
  options_.timing.replay->rounds = 3;
  options_.timing.replay->ratio.median = 2;
  options_.timing.replay->ratio.upper_bound = 2.1;
  const Job& given = job(relu_twice);
  TimingPlan plan;
  KeptTime kept;
  const CurrentCosts costs(costs_of_cpu(), given);
  plan.prepare(given, {}, costs, nullptr, 1e-3, Deadline::after(60), kept);
  EXPECT_NE(plan.evaluator(), nullptr);
  TimingReport report;
  const std::string objection =
      objection_of_timing(given, given.file, plan, Deadline::after(60), report);
  EXPECT_THAT(objection, HasSubstr("takes 2.000 times as long"));
  EXPECT_EQ(report.state, TimingReport::State::replayed);
}

/// Takes as many seconds for a run as its answers say: the original's and the result's, for each size of the first input.
class ScriptedTimer : public ModelTimer {
 public:
  std::string runtime() override { return "a script"; }
  bool was_available() const override { return true; }
  double seconds_to_prepare(std::int64_t /*operators*/) const override { return 0; }
  Result<std::vector<ModelTiming>> time(const TimingRequest& request) override {
    ++runs;
    const auto& [before, after] = seconds_at.at(request.inputs.front().front().value.sizes()[0]);
    const auto rounds = static_cast<std::size_t>(request.rounds);
    ModelTiming original{std::vector<double>(rounds, before), ""};
    original.busy_share = busy_share;
    return std::vector<ModelTiming>{original, {std::vector<double>(rounds, after), ""}};
  }
  std::map<std::int64_t, std::pair<double, double>> seconds_at;
  double busy_share = 0;
  int runs = 0;
};

interpreter::NamedTensor vector_of(std::int64_t size) {
  return {"x", interpreter::random_tensor(DataType::f32, {size}, 0, 0)};
}

TEST_F(PipelineSteps, AGainHasToHoldAtOtherSizesToo) {
  const Job& given = job(relu_twice);
  ModelInputs inputs;
  inputs.values = {vector_of(4)};
  inputs.of_other_sizes = {vector_of(8)};
  const CurrentCosts costs(costs_of_cpu(), given);
  options_.timing.measures = true;
  const auto objection = [&](ScriptedTimer& timer, TimingReport& report) {
    TimingPlan plan;
    KeptTime kept;
    plan.prepare(given, inputs, costs, &timer, 1e-3, Deadline::after(60), kept);
    return objection_of_timing(given, given.file, plan, Deadline::after(60), report);
  };
  TimingReport report;
  ScriptedTimer timer;
  timer.seconds_at = {{4, {1, 0.5}}, {8, {1, 1.005}}};
  EXPECT_EQ(objection(timer, report), "");
  EXPECT_EQ(report.other.sizes, "x:8");
  EXPECT_NEAR(report.other.times.ratio.median, 1.005, 1e-9);
  timer.seconds_at[8] = {1, 1.1};
  EXPECT_THAT(objection(timer, report),
              HasSubstr("takes 0.500 times as long as the original, but 1.100 times at x:8"));
  // Where nothing is gained the other sizes are not asked about.
  timer.seconds_at = {{4, {1, 1.5}}};
  EXPECT_THAT(objection(timer, report), HasSubstr("takes 1.500 times as long"));
  EXPECT_EQ(report.other.times.rounds, 0U);
  timer.busy_share = 0.5;
  EXPECT_THAT(objection(timer, report), HasSubstr("models waited 50% of the time"));
}

TEST_F(PipelineSteps, CostsAreThoseAtUsualSizesOrGivenOnes) {
  const Job& given = job(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[sequence] x) => (float[sequence] y) { y = Relu (x) })");
  CurrentCosts costs(costs_of_cpu(), given);
  const auto bytes = [&] { return cost_of(model_->graph, costs.get()).bytes; };
  EXPECT_EQ(bytes(), 2 * 4 * 128);
  costs.take_sizes({{"sequence", Dimension(10)}});
  EXPECT_EQ(bytes(), 2 * 4 * 10);
  costs.take_sizes(symbols_in(given, std::vector{vector_of(6)}));
  EXPECT_EQ(bytes(), 2 * 4 * 6);
  EXPECT_TRUE(symbols_in(given, {}).empty());
}

TEST_F(PipelineSteps, CostsAreLearnedUntilTheirTimeIsOver) {
  options_.costs.measures = true;
  options_.costs.database = folder_ / "profile.db";
  const Job& given = job(relu_twice);
  CountingTimer timer;
  CurrentCosts costs(costs_of_cpu(), given);
  const double before = cost_of(model_->graph, costs.get()).seconds;
  ASSERT_TRUE(costs.open(given, &timer, Deadline::after(60)));
  EXPECT_EQ(timer.asked, 1);  // both applications are alike
  EXPECT_NE(cost_of(model_->graph, costs.get()).seconds, before);
  const Graph* again = &model_->graph;
  EXPECT_FALSE(costs.learn(given, {&again, 1}));
  EXPECT_EQ(timer.asked, 1);
  EXPECT_EQ(costs.report().measured_now, 1U);
  CurrentCosts late(costs_of_cpu(), given);
  ASSERT_TRUE(late.open(given, &timer, Deadline::after(0)));
  EXPECT_EQ(timer.asked, 1);
}

TEST_F(PipelineSteps, AnAttemptPassesOrTellsThatNothingIsBetter) {
  Attempt passed = attempted(relu_twice, RoundingClass::bitwise);
  EXPECT_EQ(passed.outcome, Attempt::Outcome::passed) << passed.reason;
  EXPECT_FALSE(passed.explanation.empty());
  ASSERT_TRUE(passed.staged);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "result.onnx"));
  ASSERT_TRUE(passed.staged->publish());
  EXPECT_THAT(frontend::kinds_of(import_model(folder_ / "result.onnx")->graph),
              ElementsAre("input", "Relu"));
  const Attempt none = attempted(one_relu, RoundingClass::bitwise);
  EXPECT_EQ(none.outcome, Attempt::Outcome::no_better);
  EXPECT_FALSE(none.staged);
}

/// A rule that the check does not know makes each result refused that it is used in.
TEST_F(PipelineSteps, ARuleWhoseResultIsRefusedIsLeftOutAlone) {
  const std::string two_places = std::string(header) +
                                 "(float[4] x, float[4] y) => (float[4] u, float[4] v) "
                                 "{ a = Relu(x) u = Relu(a) b = Neg(y) v = Neg(b) }";
  const std::vector<UsedRule> used =
      attempted(two_places, RoundingClass::bitwise).figures.rules_used;
  ASSERT_GE(used.size(), 2U);
  for (const UsedRule& wrong : used) {
    replayed_.table.erase(wrong.name);
    const auto [refused, mended] = with_setup(two_places, [](const AttemptSetup& setup) {
      Attempt first = *attempt(setup, RoundingClass::bitwise, false);
      auto second = *attempt_without_a_rule(setup, RoundingClass::bitwise, false, first);
      return std::pair(std::move(first), std::move(second));
    });
    EXPECT_EQ(refused.outcome, Attempt::Outcome::refused) << wrong.name;
    ASSERT_TRUE(mended) << wrong.name;
    EXPECT_EQ(mended->outcome, Attempt::Outcome::passed) << wrong.name;
    for (const UsedRule& rule : mended->figures.rules_used) EXPECT_NE(rule.name, wrong.name);
    EXPECT_FALSE(mended->figures.rules_used.empty());
    replayed_ = ReplayedRules(rules());
  }
}

TEST_F(PipelineSteps, AnAttemptAtALargerFileIsTooLarge) {
  options_.most_growth = -1;  // no file is small enough
  EXPECT_EQ(attempted(relu_twice, RoundingClass::bitwise).outcome, Attempt::Outcome::too_large);
}

TEST_F(PipelineSteps, WhatIsNotPublishedLeavesNothing) {
  {
    const Job& given = job(relu_twice);
    const auto staged = StagedModel::write(given.model, folder_ / "staged.onnx", {});
    ASSERT_TRUE(staged);
    EXPECT_TRUE(std::filesystem::exists(staged->file()));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "staged.onnx"));
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    entries += entry.exists() ? 1 : 0;
  EXPECT_EQ(entries, 1U);  // the model
}

}  // namespace
}  // namespace lemma
