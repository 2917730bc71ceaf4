// A target of one's own: found by name, asked what it runs, timed, and given a program.

#include <algorithm>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "costmodel/device.h"
#include "pipeline/optimize_model.h"
#include "targets/target.h"
#include "tests/frontend_onnx/models.h"
#include "tests/targets/toy_target.h"

namespace lemma {
namespace {

class ToyTarget : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { add_target(testing::toy_target()); }

  const Target& toy() const { return *find_target("toy"); }

  Result<OptimizeReport> optimize(const std::string& text) {
    frontend::write_file(folder_ / "model.onnx", frontend::parse_text(text).SerializeAsString());
    const auto rules = load_rules("rules");
    auto device = load_device("tests/targets/toy.json");
    if (!rules || !device) return bad_input("no data");
    OptimizeOptions options;
    options.target = &toy();
    options.timing.measures = toy().runs_models();
    options.second_judge = false;
    return optimize_model(folder_ / "model.onnx", folder_ / "result.onnx", *rules,
                          OperatorCosts(priced_by_roofline(std::move(*device))), options);
  }

  frontend::TemporaryFolder folder_;
};

constexpr const char* relu_twice = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[4] x) => (float[4] y) { a = Relu(x) b = Relu(a) y = Relu(b) })";

TEST_F(ToyTarget, IsFoundByItsNameAlone) {
  EXPECT_EQ(find_target("toy"), &toy());
  EXPECT_EQ(find_target("toys"), nullptr);
  const std::vector<const Target*> targets = all_targets();
  EXPECT_EQ(std::count(targets.begin(), targets.end(), &toy()), 1);
}

TEST_F(ToyTarget, TimesDecideWhatIsWritten) {
  const auto report = optimize(relu_twice);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->status, OptimizeStatus::optimized) << report->message;
  EXPECT_EQ(report->timing.runtime, "toy 1");
  EXPECT_DOUBLE_EQ(report->timing.before_seconds, 3e-3);
  EXPECT_DOUBLE_EQ(report->timing.after_seconds, 1e-3);
  EXPECT_NEAR(report->after.seconds, 1e-3, 1e-9);
  const std::filesystem::path program = toy().program_beside(folder_ / "result.onnx");
  ASSERT_TRUE(toy().write_program(folder_ / "result.onnx", program, 1, nullptr));
  EXPECT_EQ(frontend::read_file(program), "Relu\n");
}

TEST_F(ToyTarget, WhatItCannotRunIsRefused) {
  const auto report = optimize(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (float[4] y) { a = Relu(x) y = Softmax(a) })");
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("the toy has no Softmax"), std::string::npos);
}

}  // namespace
}  // namespace lemma
