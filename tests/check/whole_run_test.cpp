// A result whose loop computes something else is seen.

#include "check/whole_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "tests/frontend_onnx/models.h"

namespace lemma {
namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;
using ::testing::HasSubstr;

std::string loop_with(const std::string& step) {
  return R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (int64 n, bool c, float[2] x) => (float[2] y) {
      y = Loop (n, c, x) <body = b (int64 i, bool goes_on, float[2] s) => (bool next, float[2] t) {
          next = Identity(goes_on)
          t = )" +
         step + R"(
        }>
    })";
}

class WholeRun : public ::testing::Test {
 protected:
  WholeRunAnswer run(const std::string& original, const std::string& result) {
    request_.original = file("original.onnx", original);
    request_.result = file("result.onnx", result);
    const std::vector<NamedValues> sets = {values_of(inputs_)};
    request_.sets = sets;
    request_.tolerance = {1e-4, 1e-5, false, 0};
    return run_whole(request_);
  }

  std::vector<NamedTensor> inputs_ = {
      {"n", Tensor::of(DataType::i64, {}, std::vector<std::int64_t>{3})},
      {"c", Tensor::of(DataType::boolean, {}, std::vector<std::uint8_t>{1})},
      {"x", Tensor::of(DataType::f32, {2}, std::vector<float>{1, -2})}};

 private:
  std::filesystem::path file(const std::string& name, const std::string& step) {
    frontend::write_file(folder_ / name, frontend::parse_text(loop_with(step)).SerializeAsString());
    return folder_ / name;
  }

  frontend::TemporaryFolder folder_;
  WholeRunRequest request_;
};

TEST_F(WholeRun, TheSameSumsAgree) {
  EXPECT_EQ(run("Add(s, x)", "Add(x, s)").verdict, WholeRunVerdict::agrees);
}

// The tolerance is that of the element, not of the largest one.
TEST_F(WholeRun, ASmallElementBesideALargeOneCounts) {
  inputs_[2].value = Tensor::of(DataType::f32, {2}, std::vector<float>{-1e-3F, 1000});
  EXPECT_EQ(run("Identity(s)", "Relu(s)").verdict, WholeRunVerdict::differs);
}

TEST_F(WholeRun, AnotherLoopDiffers) {
  const WholeRunAnswer answer = run("Add(s, x)", "Add(s, s)");
  EXPECT_EQ(answer.verdict, WholeRunVerdict::differs);
  EXPECT_EQ(answer.message, "output 'y': element 0 is 8, not 4");
}

TEST_F(WholeRun, AnOriginalThatCannotBeRunSaysNothing) {
  const WholeRunAnswer answer = run("custom.Mystery(s)", "Add(s, s)");
  EXPECT_EQ(answer.verdict, WholeRunVerdict::not_available);
  EXPECT_THAT(answer.message, HasSubstr("Mystery cannot be run"));
}

TEST_F(WholeRun, AResultThatCannotBeRunDiffers) {
  const WholeRunAnswer answer = run("Add(s, s)", "custom.Mystery(s)");
  EXPECT_EQ(answer.verdict, WholeRunVerdict::differs);
  EXPECT_THAT(answer.message, HasSubstr("it cannot be run"));
}

}  // namespace
}  // namespace lemma
