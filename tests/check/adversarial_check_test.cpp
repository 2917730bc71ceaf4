// Wrong results that random inputs do not show, and right ones that look wrong at first sight.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "check/check_inputs.h"
#include "check/sampled_check.h"
#include "ir/graph_text.h"

namespace lemma {
namespace {

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << graph.error().message << "\n" << text;
  return graph ? std::move(*graph) : Graph();
}

/// Two programs over the same inputs; lines are those of a graph's text.
struct Pair {
  const char* name;
  const char* inputs;
  const char* original;
  const char* result;
};

std::string graph_text(const Pair& pair, const char* lines) {
  std::string text = "graph \"g\"\n";
  for (const char* part : {pair.inputs, lines}) {
    std::string line;
    for (const char* c = part; *c != '\0'; ++c) {
      if (*c != ';') {
        line += *c;
        continue;
      }
      text += "  " + line + "\n";
      line.clear();
      while (c[1] == ' ') ++c;
    }
  }
  return text;
}

void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.name; }

constexpr const char* x = R"(input %0 "x" : f32[64];)";
constexpr const char* two = R"(input %0 "x" : f32[16, 4]; input %1 "y" : f32[16, 4];)";
constexpr const char* three =
    R"(input %0 "x" : f32[32]; input %1 "y" : f32[32]; input %2 "z" : f32[32];)";
constexpr const char* dynamic = R"(input %0 "x" : f32[4, N]; input %1 "y" : f32[4, 8];)";
constexpr const char* integer = R"(input %0 "x" : i32[64];)";

const Pair wrong[] = {
    {"the quotient of two through a third", three, "%3 = Div(%2, %1); output \"o\" = %3;",
     "%3 = Div(%0, %1); %4 = Div(%2, %0); %5 = Mul(%3, %4); output \"o\" = %5;"},
    {"twice above a limit", x,
     R"(%1 = constant f32[] [100]; %2 = Greater(%0, %1); %3 = Add(%0, %0); %4 = Where(%2, %3, %0); output "o" = %4;)",
     R"(output "o" = %0;)"},
    {"a product with zero above a limit", x,
     R"(%1 = constant f32[] [50]; %2 = Less(%1, %0); %3 = Neg(%0); %4 = Where(%2, %3, %0); output "o" = %4;)",
     R"(output "o" = %0;)"},
    {"softmax over nothing sums to one", dynamic,
     R"(%2 = Softmax{axis=-1}(%0); %3 = ReduceSum{axes=[-1], keepdims=1}(%2); %4 = Mul(%1, %3); output "o" = %4;)",
     R"(output "o" = %1;)"},
    {"a mean over nothing", dynamic,
     R"(%2 = ReduceSum{axes=[-1], keepdims=1}(%0); %3 = Add(%1, %2); output "o" = %3;)",
     R"(%2 = ReduceMean{axes=[-1], keepdims=1}(%0); %3 = constant f32[] [2]; %4 = Mul(%2, %3); %5 = Add(%1, %4); output "o" = %5;)"},
    {"a quotient by itself", two, R"(%2 = Mul(%0, %1); %3 = Add(%2, %0); output "o" = %3;)",
     R"(%2 = Mul(%0, %1); %3 = Div(%0, %0); %4 = Mul(%2, %3); %5 = Add(%4, %0); output "o" = %5;)"},
    {"a reciprocal of a reciprocal", x, R"(%1 = Abs(%0); output "o" = %1;)",
     R"(%1 = Abs(%0); %2 = Reciprocal(%1); %3 = Reciprocal(%2); %4 = Reciprocal(%0); %5 = Mul(%0, %4); %6 = Mul(%3, %5); output "o" = %6;)"},
    {"a root of a square", x, R"(%1 = Mul(%0, %0); %2 = Add(%1, %0); output "o" = %2;)",
     R"(%1 = Abs(%0); %2 = Sqrt(%1); %3 = Mul(%2, %2); %4 = Mul(%3, %3); %5 = Div(%4, %1); %6 = Mul(%5, %1); %7 = Add(%6, %0); output "o" = %7;)"},
    {"a logarithm of what may be zero", two, R"(%2 = Abs(%0); %3 = Add(%2, %1); output "o" = %3;)",
     R"(%2 = Abs(%0); %3 = Log(%2); %4 = Exp(%3); %5 = Sub(%3, %3); %6 = Add(%4, %5); %7 = Add(%6, %1); output "o" = %7;)"},
    {"a clip with another limit above", x, R"(%1 = Clip{min=-6.0, max=6.0}(%0); output "o" = %1;)",
     R"(%1 = Clip{min=-6.0, max=9.0}(%0); output "o" = %1;)"},
    {"a clip with no limit above", x, R"(%1 = Clip{min=0.0, max=6.0}(%0); output "o" = %1;)",
     R"(%1 = Relu(%0); output "o" = %1;)"},
    {"a clip with another limit below", x, R"(%1 = Clip{min=-3.0, max=6.0}(%0); output "o" = %1;)",
     R"(%1 = Clip{min=-2.0, max=6.0}(%0); output "o" = %1;)"},
    {"a comparison that is not strict", x,
     R"(%1 = constant f32[] [3]; %2 = Greater(%0, %1); %3 = Cast{to=f32}(%2); output "o" = %3;)",
     R"(%1 = constant f32[] [3]; %2 = GreaterOrEqual(%0, %1); %3 = Cast{to=f32}(%2); output "o" = %3;)"},
    {"equality with zero", x,
     R"(%1 = constant f32[] [0]; %2 = Equal(%0, %1); %3 = constant f32[] [5]; %4 = Where(%2, %3, %0); output "o" = %4;)",
     R"(output "o" = %0;)"},
    {"an absolute value at the ends of integers", integer,
     R"(%1 = Abs(%0); %2 = constant i32[] [0]; %3 = Less(%1, %2); output "o" = %3;)",
     R"(%2 = constant i32[] [0]; %3 = Less(%0, %0); output "o" = %3;)"},
    {"a sum of integers that overflows", integer,
     R"(%1 = Add(%0, %0); %2 = Less(%0, %1); output "o" = %2;)",
     R"(%1 = constant i32[] [0]; %2 = Less(%1, %0); output "o" = %2;)"},
    {"the sign of integers", integer, R"(%1 = Mul(%0, %0); output "o" = %1;)",
     R"(%1 = Abs(%0); output "o" = %1;)"},
    {"a quotient of negative integers", integer,
     R"(%1 = constant i32[] [2]; %2 = Div(%0, %1); %3 = Mul(%2, %1); output "o" = %3;)",
     R"(%1 = constant i32[] [2]; %2 = Mod(%0, %1); %3 = Sub(%0, %2); output "o" = %3;)"},
    {"sigmoid for large numbers", x, R"(%1 = Sigmoid(%0); %2 = Mul(%1, %0); output "o" = %2;)",
     R"(%1 = Sigmoid(%0); %2 = Mul(%1, %0); %3 = Clip{min=-50.0, max=50.0}(%2); output "o" = %3;)"},
    {"a leak far below zero", x, R"(%1 = LeakyRelu{alpha=0.01}(%0); output "o" = %1;)",
     R"(%1 = constant f32[] [-1.5]; %2 = Max(%0, %1); %3 = LeakyRelu{alpha=0.01}(%2); output "o" = %3;)"},
    {"x/x instead of the branch that is taken", two,
     R"(%2 = constant f32[] [0]; %3 = Equal(%0, %2); %4 = Div(%1, %0); %5 = Where(%3, %2, %4); output "o" = %5;)",
     R"(%2 = constant f32[] [0]; %4 = Div(%1, %0); output "o" = %4;)"},
    {"a batch of one", R"(input %0 "x" : f32[N, 4];)",
     R"(%1 = ReduceSum{axes=[0], keepdims=0}(%0); output "o" = %1;)",
     R"(%1 = ReduceSum{axes=[0], keepdims=0}(%0); %2 = ReduceMean{axes=[0], keepdims=0}(%0); %3 = Add(%2, %2); output "o" = %3;)"},
    {"a mask of minus infinity", two,
     R"(%2 = constant f32[] [-inf]; %3 = constant f32[] [0]; %4 = Greater(%0, %3); %5 = Where(%4, %2, %1); %6 = Exp(%5); output "o" = %6;)",
     R"(%2 = constant f32[] [-inf]; %3 = constant f32[] [0]; %4 = Greater(%0, %3); %5 = Where(%4, %2, %1); %6 = Sub(%5, %5); %7 = Add(%5, %6); %8 = Exp(%7); output "o" = %8;)"},
    {"a power of what is negative", x, R"(%1 = Mul(%0, %0); %2 = Mul(%1, %0); output "o" = %2;)",
     R"(%1 = Abs(%0); %2 = Mul(%0, %0); %3 = Mul(%2, %1); output "o" = %3;)"},
};

class WrongResult : public testing::TestWithParam<Pair> {};

TEST_P(WrongResult, IsFound) {
  const Graph original = parsed(graph_text(GetParam(), GetParam().original));
  const Graph result = parsed(graph_text(GetParam(), GetParam().result));
  const auto check = compare_on_random_inputs(original, result, {.adversarial_seconds = 30});
  ASSERT_TRUE(check.has_value()) << check.error().message;
  EXPECT_FALSE(check->passed);
}

INSTANTIATE_TEST_SUITE_P(All, WrongResult, testing::ValuesIn(wrong));

/// Random inputs alone see less than half of them.
TEST(AdversarialCheck, RandomInputsAreNotEnough) {
  int unseen = 0;
  for (const Pair& pair : wrong) {
    const Graph original = parsed(graph_text(pair, pair.original));
    const Graph result = parsed(graph_text(pair, pair.result));
    const auto check = compare_on_random_inputs(original, result, {.adversarial = 0});
    unseen += check && check->passed ? 1 : 0;
  }
  EXPECT_GE(unseen, 12);
}

const Pair right[] = {
    {"a quotient that becomes a number", two,
     R"(%2 = Div(%0, %0); %3 = Mul(%2, %1); output "o" = %3;)", R"(output "o" = %1;)"},
    {"what a comparison makes of 0/0", two,
     R"(%2 = Div(%0, %0); %3 = constant f32[] [0.5]; %4 = Greater(%2, %3); %5 = Cast{to=f32}(%4); %6 = Mul(%5, %1); output "o" = %6;)",
     R"(output "o" = %1;)"},
    {"one through an infinity", x, R"(%1 = Reciprocal(%0); %2 = Reciprocal(%1); output "o" = %2;)",
     R"(output "o" = %0;)"},
    {"a sum that cancels", two, R"(%2 = Add(%0, %1); %3 = Sub(%2, %0); output "o" = %3;)",
     R"(output "o" = %1;)"},
    {"a product in another order", three, R"(%3 = Mul(%0, %1); %4 = Mul(%3, %2); output "o" = %4;)",
     R"(%3 = Mul(%1, %2); %4 = Mul(%0, %3); output "o" = %4;)"},
    {"a product that is distributed", three,
     R"(%3 = Add(%0, %1); %4 = Mul(%3, %2); output "o" = %4;)",
     R"(%3 = Mul(%0, %2); %4 = Mul(%1, %2); %5 = Add(%3, %4); output "o" = %5;)"},
    {"softmax with its quotient", dynamic, R"(%2 = Softmax{axis=-1}(%0); output "o" = %2;)",
     R"(%2 = ReduceMax{axes=[-1], keepdims=1}(%0); %3 = Sub(%0, %2); %4 = Exp(%3); %5 = ReduceSum{axes=[-1], keepdims=1}(%4); %6 = Div(%4, %5); output "o" = %6;)"},
    {"a power that overflows in one order", x, R"(%1 = Exp(%0); %2 = Log(%1); output "o" = %2;)",
     R"(output "o" = %0;)"},
    {"rounding that decides a comparison", two,
     R"(%2 = constant f32[] [0.1]; %3 = Mul(%0, %2); %4 = Mul(%1, %2); %5 = Add(%3, %4); %6 = constant f32[] [0.3]; %7 = Greater(%5, %6); output "o" = %7;)",
     R"(%2 = constant f32[] [0.1]; %3 = Add(%0, %1); %4 = Mul(%3, %2); %6 = constant f32[] [0.3]; %7 = Greater(%4, %6); output "o" = %7;)"},
    {"a mean over nothing that is not asked for", R"(input %0 "x" : f32[4, N];)",
     R"(%1 = ReduceMean{axes=[-1], keepdims=0}(%0); %2 = Sub(%1, %1); output "o" = %2;)",
     R"(%1 = ReduceSum{axes=[-1], keepdims=0}(%0); %2 = Sub(%1, %1); output "o" = %2;)"},
    {"a mask of minus infinity through another order", two,
     R"(%2 = constant f32[] [-inf]; %3 = constant f32[] [0]; %4 = Greater(%0, %3); %5 = Where(%4, %2, %1); %6 = Softmax{axis=-1}(%5); %7 = Mul(%6, %1); output "o" = %7;)",
     R"(%2 = constant f32[] [-inf]; %3 = constant f32[] [0]; %4 = Greater(%0, %3); %5 = Where(%4, %2, %1); %6 = Softmax{axis=-1}(%5); %7 = Mul(%1, %6); output "o" = %7;)"},
};

class RightResult : public testing::TestWithParam<Pair> {};

TEST_P(RightResult, Passes) {
  const Graph original = parsed(graph_text(GetParam(), GetParam().original));
  const Graph result = parsed(graph_text(GetParam(), GetParam().result));
  const auto check = compare_on_random_inputs(original, result, {.adversarial_seconds = 30});
  ASSERT_TRUE(check.has_value()) << check.error().message;
  EXPECT_TRUE(check->passed) << check->difference;
  EXPECT_GT(check->adversarial, 5);
}

INSTANTIATE_TEST_SUITE_P(All, RightResult, testing::ValuesIn(right));

/// In half precision one rounding of a product before an activation is 1/1000 of the result.
TEST(AdversarialCheck, TolerancesFollowTheType) {
  const auto with = [](const char* type, const char* lines) {
    return parsed(fmt::format("graph \"g\"\n  input %0 \"x\" : {}[8, 64]\n", type) + lines);
  };
  const char* apart =
      "  %1 = ConstantOfShape{data_type=f16, shape=[], value=0.3}()\n"
      "  %2 = Mul(%0, %1)\n  %3 = Mul(%2, %1)\n  %4 = Relu(%3)\n  output \"o\" = %4\n";
  const char* together =
      "  %1 = ConstantOfShape{data_type=f16, shape=[], value=0.09}()\n"
      "  %2 = Mul(%0, %1)\n  %4 = Relu(%2)\n  output \"o\" = %4\n";
  const Graph original = with("f16", apart), result = with("f16", together);
  const auto check = compare_on_random_inputs(original, result, {});
  ASSERT_TRUE(check.has_value()) << check.error().message;
  EXPECT_TRUE(check->passed) << check->difference;
  const auto strict = compare_on_random_inputs(
      original, result, {.relative_tolerance = 1e-6, .absolute_tolerance = 1e-7});
  ASSERT_TRUE(strict.has_value());
  EXPECT_FALSE(strict->passed);
  EXPECT_GT(tolerance_for(original, {}).relative,
            tolerance_for(parsed(graph_text(wrong[0], wrong[0].original)), {}).relative);
}

/// A promise of every bit is judged at infinities, NaN and zeros of both signs too.
TEST(AdversarialCheck, BitsAreCompared) {
  const Pair pairs[] = {
      {"a zero is added", x, R"(%1 = constant f32[] [0]; %2 = Add(%0, %1); output "o" = %2;)",
       R"(output "o" = %0;)"},
      {"relu of what is negated", x, R"(%1 = Neg(%0); %2 = Relu(%1); output "o" = %2;)",
       R"(%1 = Relu(%0); %2 = Sub(%1, %0); output "o" = %2;)"},
      {"a product with zero", x,
       R"(%1 = constant f32[] [0]; %2 = Mul(%0, %1); %3 = Abs(%2); output "o" = %3;)",
       R"(%1 = constant f32[] [0]; %2 = Sub(%1, %1); %3 = Mul(%2, %2); %4 = Expand{shape=[64]}(%3); output "o" = %4;)"},
  };
  for (const Pair& pair : pairs) {
    const Graph original = parsed(graph_text(pair, pair.original));
    const Graph result = parsed(graph_text(pair, pair.result));
    const auto rounding = compare_on_random_inputs(original, result, {.adversarial_seconds = 30});
    ASSERT_TRUE(rounding.has_value()) << pair.name << rounding.error().message;
    EXPECT_TRUE(rounding->passed) << pair.name << ": " << rounding->difference;
    const auto bitwise =
        compare_on_random_inputs(original, result, {.adversarial_seconds = 30, .bitwise = true});
    ASSERT_TRUE(bitwise.has_value()) << pair.name;
    EXPECT_FALSE(bitwise->passed) << pair.name;
  }
}

TEST(AdversarialCheck, InputsAreTheSameEveryTime) {
  const Graph graph = parsed(graph_text(wrong[1], wrong[1].original));
  const std::vector<double> limits = limits_of(graph);
  EXPECT_NE(std::find(limits.begin(), limits.end(), 200.0), limits.end());
  for (const InputPlan& plan : adversarial_plans(graph, 2, limits, true, 0)) {
    const auto first = make_inputs(graph, plan, limits, 1 << 20);
    const auto second = make_inputs(graph, plan, limits, 1 << 20);
    ASSERT_TRUE(first && second) << describe(plan);
    for (std::size_t i = 0; i < first->size(); ++i)
      EXPECT_TRUE((*first)[i].value == (*second)[i].value) << describe(plan);
  }
}

/// The inputs of a voice detector: sound, a state whose one open size is that of the batch, and a rate.
TEST(PlansToRun, HaveABatchOfOneAndIntegersOfTheModel) {
  const Graph graph = parsed(
      "graph \"g\"\n  input %0 \"input\" : f32[A, B]\n  input %1 \"state\" : f32[2, C, 128]\n"
      "  input %2 \"rate\" : i64[]\n  %3 = constant i64[] [16000]\n  %4 = Equal(%2, %3)\n"
      "  %5 = Neg(%0)\n  %6 = Neg(%1)\n"
      "  output \"o\" = %5\n  output \"p\" = %6\n  output \"q\" = %4\n");
  bool there = false;
  for (const InputPlan& plan : plans_to_run(graph, {}, 0)) {
    const auto inputs = make_inputs(graph, plan, {}, 1 << 22);
    if (!inputs) continue;
    there = there || ((*inputs)[0].value.sizes() == interpreter::Sizes{1, 576} &&
                      (*inputs)[1].value.sizes() == interpreter::Sizes{2, 1, 128} &&
                      (*inputs)[2].value.integers().front() == 16000);
  }
  EXPECT_TRUE(there);
  for (const InputPlan& plan : plans_to_run(graph, {{"B", 7}}, 0))
    EXPECT_EQ(plan.sizes.at("B"), 7) << describe(plan);
}

TEST(PlansToRun, HaveLargerSizesWhereABatchIsAllThatIsOpen) {
  const Graph graph =
      parsed("graph \"g\"\n  input %0 \"x\" : f32[N, 3]\n  %1 = Neg(%0)\n  output \"o\" = %1\n");
  const std::vector<InputPlan> plans = plans_to_run(graph, {}, 0);
  EXPECT_TRUE(std::any_of(plans.begin(), plans.end(), [](const InputPlan& plan) {
    return plan.size == 512 && plan.sizes.empty();
  }));
}

}  // namespace
}  // namespace lemma
