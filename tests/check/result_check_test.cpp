// Each step of the check refuses what it is there for, and says so.

#include "check/result_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "check/opaque_pairs.h"
#include "costmodel/device.h"
#include "search/optimize.h"
#include "tests/frontend_onnx/models.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = ResultVerdict::Kind;

constexpr const char* header = R"(<ir_version: 8, opset_import: ["" : 17]> g )";
const std::string relu_twice =
    std::string(header) + "(float[4] x) => (float[4] y) { a = Relu(x) y = Relu(a) }";
const std::string negated = std::string(header) + "(float[4] x) => (float[4] y) { y = Neg(x) }";

/// A model that the rules make smaller, and what a search says of it.
class ResultCheck : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    rules_ = new RuleDatabase(*load_rules("rules"));
    replayed_ = new ReplayedRules(*rules_);
  }
  static void TearDownTestSuite() {
    delete replayed_;
    delete rules_;
  }

  void SetUp() override {
    write("original.onnx", relu_twice);
    original_.emplace(*import_model(folder_ / "original.onnx"));
    auto device = load_device("targets/devices/cpu.json");
    const OperatorCosts costs(priced_by_roofline(std::move(*device)));
    SearchOptions options;
    options.explain = true;
    auto searched =
        optimize(original_->graph, rules_->up_to(RoundingClass::bitwise), costs, options);
    ASSERT_TRUE(searched) << searched.error().message;
    ASSERT_TRUE(searched->improved);
    result_ = std::move(searched->graph);
    explanation_ = std::move(searched->explanation);
    ASSERT_TRUE(export_model({*result_, original_->envelope}, folder_ / "result.onnx", {}));
    reference_.emplace(*SampledReference::compute(original_->graph, {}));
  }

  void write(const std::string& name, const std::string& text) {
    frontend::write_file(folder_ / name, frontend::parse_text(text).SerializeAsString());
  }

  /// Makes another program of the result, in the file too.
  void take_other_result(const std::string& text) {
    write("result.onnx", text);
    result_ = import_model(folder_ / "result.onnx")->graph;
  }

  ResultCheckRequest request() {
    return {.original = *original_,
            .original_file = folder_ / "original.onnx",
            .result = *result_,
            .result_file = folder_ / "result.onnx",
            .opaque_outputs = opaque_outputs_,
            .reading = {},
            .explanation = explanation_,
            .rules = *replayed_,
            .reference = *reference_,
            .comparison = {},
            .deadline = Deadline::after(60),
            .admits = {},
            .second_judge = {},
            .on_step = [this](const std::string& step) { steps_.push_back(step); },
            .on_written_graph = {}};
  }

  ResultVerdict verdict() { return check_result(request(), report_); }

  static inline RuleDatabase* rules_ = nullptr;
  static inline ReplayedRules* replayed_ = nullptr;
  frontend::TemporaryFolder folder_;
  std::optional<OnnxModel> original_;
  std::optional<Graph> result_;
  std::string explanation_;
  std::set<std::string, std::less<>> opaque_outputs_;
  std::optional<SampledReference> reference_;
  CheckReport report_;
  std::vector<std::string> steps_;
};

TEST_F(ResultCheck, PassesWhatTheSearchFound) {
  const ResultVerdict checked = verdict();
  EXPECT_EQ(checked.kind, Kind::passed) << checked.reason;
  EXPECT_THAT(steps_, ElementsAre("replaying the explanation", "reading back what was written",
                                  "comparing with the original"));
  EXPECT_EQ(report_.comparison.samples, 1);
  EXPECT_GT(report_.comparison.adversarial, 0);
  EXPECT_EQ(report_.whole_run, "not asked");
}

TEST_F(ResultCheck, RefusesAnExplanationThatDoesNotHold) {
  const std::size_t rule = explanation_.find("rule ");
  explanation_.insert(rule == std::string::npos ? explanation_.size() / 2 : rule, "nonsense ");
  const ResultVerdict checked = verdict();
  EXPECT_EQ(checked.kind, Kind::refused);
  EXPECT_THAT(checked.reason, HasSubstr("explanation does not hold"));
}

TEST_F(ResultCheck, RefusesAFileThatHoldsSomethingElse) {
  write("result.onnx", negated);
  EXPECT_THAT(verdict().reason, HasSubstr("the file does not hold it"));
  frontend::write_file(folder_ / "result.onnx", "no model");
  EXPECT_THAT(verdict().reason, HasSubstr("the file does not hold it"));
}

TEST_F(ResultCheck, RefusesWhatComputesSomethingElse) {
  take_other_result(negated);
  const ResultVerdict checked = verdict();
  EXPECT_EQ(checked.kind, Kind::refused);
  EXPECT_THAT(checked.reason, HasSubstr("it differs from its original"));
  EXPECT_FALSE(report_.comparison.passed);
}

TEST_F(ResultCheck, RefusesWhatTheTargetCannotRun) {
  ResultCheckRequest asked = request();
  asked.admits = [](const Graph&) -> Result<void> { return unsupported("no Relu here"); };
  const ResultVerdict checked = check_result(asked, report_);
  EXPECT_EQ(checked.kind, Kind::refused);
  EXPECT_THAT(checked.reason, HasSubstr("the target cannot run it: no Relu here"));
}

TEST_F(ResultCheck, DoesNotBlameTheResultForTooLittleTime) {
  ResultCheckRequest asked = request();
  asked.deadline = Deadline::after(0);
  const ResultVerdict checked = check_result(asked, report_);
  EXPECT_EQ(checked.kind, Kind::impossible);
  EXPECT_THAT(checked.reason, HasSubstr("time limit"));
}

TEST_F(ResultCheck, NeedsAnotherJudgeWhereNothingWasComputed) {
  reference_.emplace(*SampledReference::of_inputs(original_->graph, {}));
  EXPECT_FALSE(reference_->is_computed());
  EXPECT_EQ(reference_->inputs_for_second_judge(8, {}).size(), 3U);
  EXPECT_TRUE(reference_->allowances({}).empty());
  const auto compared = reference_->compare(*result_, {});
  ASSERT_TRUE(compared) << compared.error().message;
  EXPECT_EQ(compared->samples + compared->adversarial, 0);
  const ResultVerdict checked = verdict();
  EXPECT_EQ(checked.kind, Kind::impossible);
  EXPECT_THAT(checked.reason, HasSubstr("time limit"));
  // A judge that is not there says nothing.
  OnnxRuntimeWorker missing({"/nowhere/python", "worker.py"});
  ResultCheckRequest asked = request();
  asked.second_judge.emplace(SecondJudgeRequest{.worker = missing,
                                                .inputs = {},
                                                .scratch_folder = folder_ / ".",
                                                .deadline = Deadline::after(10)});
  EXPECT_EQ(check_result(asked, report_).kind, Kind::impossible);
  EXPECT_EQ(report_.second_judge, "not available");
}

TEST_F(ResultCheck, TellsWhichGraphWasWritten) {
  ResultCheckRequest asked = request();
  std::size_t operations = 0;
  asked.on_written_graph = [&operations](const Graph& graph) {
    for (const NodeId id : graph.live_nodes())
      operations += graph.node(id).kind == NodeKind::operation ? 1 : 0;
  };
  EXPECT_EQ(check_result(asked, report_).kind, Kind::passed);
  EXPECT_EQ(operations, 1U);
}

TEST(ValuesThatAreNotCompared, ComeFromTheSamePlace) {
  const auto texts = [](const std::string& body) {
    return *frontend::import_text(
        std::string(header) +
        "(string[2] s, string[2] t, float[4] x) => (string[n] u, string[2] "
        "v, float[4] y) { y = Relu(x) " +
        body + " }");
  };
  const OnnxModel original = texts("u = StringNormalizer (s) v = Identity (t)");
  EXPECT_EQ(value_that_is_not_compared(original, original), "");
  EXPECT_THAT(
      value_that_is_not_compared(original, texts("u = StringNormalizer (t) v = Identity (t)")),
      HasSubstr("input 0 of StringNormalizer"));
  EXPECT_EQ(
      value_that_is_not_compared(original, texts("u = StringNormalizer (s) v = Identity (s)")),
      "output 'v'");
}

}  // namespace
}  // namespace lemma
