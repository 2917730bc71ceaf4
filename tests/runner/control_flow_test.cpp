// If, Loop, Scan, SequenceMap and FlexAttention.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runner/run_text.h"

namespace lemma::runner {
namespace {

using ::testing::HasSubstr;

TEST(Runner, ABranchSeesWhatIsAroundIt) {
  const std::string model = R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}> {
      t = Neg(x)
      y = If (c) <then_branch = a () => (float[2] p) { p = Add(t, w) },
                  else_branch = b () => (float[2] q) { q = Mul(t, t) }>
    })";
  EXPECT_EQ(shown(run_text(model, {floats({2}, {3, 4}), boolean(true)})), "f32[2] -2 -2");
  EXPECT_EQ(shown(run_text(model, {floats({2}, {3, 4}), boolean(false)})), "f32[2] 9 16");
}

TEST(Runner, WhatFollowsABranchOfUnknownSizes) {
  const std::string model = R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[N] x, bool c) => (float[M] z) {
      y = If (c) <then_branch = a () => (float[K] p) { p = Concat <axis = 0> (x, x) },
                  else_branch = b () => (float[K] q) { q = Neg(x) }>
      z = Add(y, y)
    })";
  EXPECT_EQ(shown(run_text(model, {floats({2}, {1, 2}), boolean(true)})), "f32[4] 2 4 2 4");
  EXPECT_EQ(shown(run_text(model, {floats({2}, {1, 2}), boolean(false)})), "f32[2] -2 -4");
}

/// Doubles x until it is more than the limit, at most n times; gives each value.
constexpr const char* doubling = R"(<ir_version: 8, opset_import: ["" : 13]>
  g (int64 n, bool c, float x, float limit) => (float last, float[K] all) {
    last, all = Loop (n, c, x) <body = b (int64 i, bool goes_on, float s) => (bool next, float t, float u) {
        t = Add(s, s)
        u = Identity(t)
        next = Less(t, limit)
      }>
  })";

TEST(Runner, ALoopEndsByItsCountOrItsCondition) {
  const auto run = [](std::int64_t n, bool condition, float limit) {
    return shown(run_text(
        doubling, {integers({}, {n}), boolean(condition), floats({}, {1}), floats({}, {limit})}));
  };
  EXPECT_EQ(run(3, true, 100), "f32[] 8, f32[3] 2 4 8");
  EXPECT_EQ(run(10, true, 4), "f32[] 4, f32[2] 2 4");
  EXPECT_EQ(run(0, true, 100), "f32[] 1, f32[0]");
  EXPECT_EQ(run(3, false, 100), "f32[] 1, f32[0]");
}

TEST(Runner, ALoopWithoutEndIsAnError) {
  RunOptions options;
  options.step_limit = 5;
  const std::string model = R"(<ir_version: 8, opset_import: ["" : 13]>
    g (int64 n, bool c, float x) => (float y) {
      y = Loop (n, c, x) <body = b (int64 i, bool goes_on, float s) => (bool next, float t) {
          t = Neg(s)
          next = Identity(goes_on)
        }>
    })";
  EXPECT_THAT(
      shown(run_text(model, {integers({}, {INT64_MAX}), boolean(true), floats({}, {1})}, options)),
      HasSubstr("the loop did not end within 5 steps"));
}

TEST(Runner, AStateMayGrow) {
  const std::string model = R"(<ir_version: 8, opset_import: ["" : 13]>
    g (int64 n, bool c, float[N] x) => (float[M] y) {
      y = Loop (n, c, x) <body = b (int64 i, bool goes_on, float[K] s) => (bool next, float[L] t) {
          t = Concat <axis = 0> (s, x)
          next = Identity(goes_on)
        }>
    })";
  EXPECT_EQ(shown(run_text(model, {integers({}, {2}), boolean(true), floats({1}, {7})})),
            "f32[3] 7 7 7");
}

TEST(Runner, ALoopInALoop) {
  const std::string model = R"(<ir_version: 8, opset_import: ["" : 13]>
    g (int64 n, bool c, int64 x) => (int64 y) <int64 one = {1}> {
      y = Loop (n, c, x) <body = b (int64 i, bool g, int64 s) => (bool next, int64 t) {
          next = Identity(g)
          t = Loop (i, c, s) <body = d (int64 j, bool h, int64 u) => (bool more, int64 v) {
              more = Identity(h)
              v = Add(u, one)
            }>
        }>
    })";
  EXPECT_EQ(shown(run_text(model, {integers({}, {4}), boolean(true), integers({}, {0})})),
            "i64[] 6");
}

TEST(Runner, AScanGoesAlongAnAxisEitherWay) {
  const auto model = [](const std::string& direction) {
    return R"(<ir_version: 8, opset_import: ["" : 13]>
      g (float x, float[N] xs) => (float last, float[N] sums) {
        last, sums = Scan <num_scan_inputs = 1, scan_input_directions = [)" +
           direction + R"(],
            body = b (float s, float e) => (float t, float u) { t = Sub(e, s)  u = Identity(t) }> (x, xs)
      })";
  };
  const std::vector<RunTimeValue> inputs = {floats({}, {1}), floats({3}, {5, 7, 10})};
  EXPECT_EQ(shown(run_text(model("0"), inputs)), "f32[] 7, f32[3] 4 3 7");
  EXPECT_EQ(shown(run_text(model("1"), inputs)), "f32[] 7, f32[3] 9 -2 7");
}

TEST(Runner, ASequenceIsMapped) {
  const std::string model = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N] x, float[M] y) => (float[K] z) {
      s = SequenceConstruct(x, y)
      t = SequenceMap (s, x) <body = b (float[L] e, float[N] w) => (float[L] r) { r = Mul(e, w) }>
      z = ConcatFromSequence <axis = 0> (t)
    })";
  EXPECT_EQ(shown(run_text(model, {floats({2}, {2, 3}), floats({1}, {10})})), "f32[4] 4 9 20 30");
}

TEST(Runner, AttentionWithBodiesSharesHeadsOfKeys) {
  const auto attended = [](const std::string& bodies) {
    const std::string model = R"(<ir_version: 8, opset_import: ["" : 20, "ai.onnx.preview" : 1]>
      g (float[1, 2, 1, 1] q, float[1, 1, 2, 1] k, float[1, 1, 2, 1] v) => (float[1, 2, 1, 1] y) {
        y = ai.onnx.preview.FlexAttention <)" +
                              bodies + "> (q, k, v) }";
    return shown(run_text(model, {floats({1, 2, 1, 1}, {0, 1}), floats({1, 1, 2, 1}, {0, 9}),
                                  floats({1, 1, 2, 1}, {2, 4})}));
  };
  // Without scores both values weigh the same.
  const std::string no_scores =
      "score_mod = a (float[B, H, L, S] s) => (float[B, H, L, S] r) { r = Sub(s, s) }";
  EXPECT_EQ(attended(no_scores), "f32[1, 2, 1, 1] 3 3");
  EXPECT_EQ(attended(no_scores + ", prob_mod = b (float[B, H, L, S] p) => (float[B, H, L, S] t) "
                                 "{ t = Add(p, p) }"),
            "f32[1, 2, 1, 1] 6 6");
  EXPECT_THAT(attended("score_mod = a (float[B, H, L, S] s) => (float[B, K] r) "
                       "{ r = Flatten(s) }"),
              HasSubstr("score_mod gives f32[1, 4], not f32[1, 2, 1, 2]"));
}

TEST(Runner, AnOperatorOfAnUnknownSetIsNotRun) {
  const std::string model = R"(<ir_version: 8, opset_import: ["" : 29]>
    g (float[N] x) => (int64[1, K] y) { y = NonZero(x) })";
  EXPECT_THAT(shown(run_text(model, {floats({1}, {1})})),
              HasSubstr("operator set 29 is newer than 28"));
}

TEST(Runner, WhatCannotBeRunIsNamed) {
  const std::string model = R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x) => (float[2] y) { y = custom.Mystery(x) })";
  const auto result = run_text(model, {floats({2}, {1, 2})});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(result.error().message, HasSubstr("custom.Mystery cannot be run"));
}

}  // namespace
}  // namespace lemma::runner
