// Explanations that are right, and wrong ones that must be refused: steps that are no equations where
// they stand, facts that nothing shows, circles, infinities, observers.

#include "verifier/checker/explanation.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rule_language/digests.h"

namespace lemma {
namespace {

constexpr std::string_view rules_text = R"(
rule div_mul
  x : [A..]
  y : [A..]
  Mul(Div(x, y), y) => x

rule sub_self
  x : [A..]
  Sub(x, x) => Mul(x, ConstantOfShape{data_type=f32, shape=[], value=0.0}())

rule div_self
  x : [A..]
  Div(x, x) => Exp(Sub(x, x))

rule commutes
  x : [A..]
  y : [A..]
  Add(x, y) = Add(y, x)

rule factor
  x : [A..]
  y : [A..]
  s : [A..]
  Add(Mul(x, s), Mul(y, s)) = Mul(Add(x, y), s)

rule absorbs
  defined x : [A..]
  y : [A..]
  Add(Mul(x, y), Mul(y, x)) = Mul(Add(y, y), x)

rule double_negation
  x : [A..]
  Neg(Neg(x)) = x

rule log_exp
  x : [A..]
  Exp(Log(x)) => x

rule cancels
  x : [A..]
  Sub(Add(x, x), x) = x
)";

class Explanation : public ::testing::Test {
 protected:
  Explanation() : rules_(*parse_substitutions(rules_text, "test.rules")) {
    for (const Substitution& rule : rules_) table_[rule.name] = &rule;
  }

  /// Lines of the graph, then steps. The rules are listed as they are used.
  std::string text_of(const std::string& graph, const std::vector<std::string>& steps) {
    std::string text = "lemma explanation 2\ngraph \"test\"\n" + graph;
    std::set<std::string> used;
    for (const std::string& step : steps) {
      if (step.starts_with("given") || step.starts_with("copies")) continue;
      const std::size_t begin = step.find(' ') + 1;
      used.insert(step.substr(begin, step.find(' ', begin) - begin));
    }
    Digests digests;
    for (const std::string& name : used)
      text += fmt::format("rule {} {}\n", name, digests.of_substitution(*table_.at(name)));
    for (const std::string& step : steps) text += step + "\n";
    return text + "end\n";
  }

  void holds(const std::string& graph, const std::vector<std::string>& steps) {
    const auto checked = checker::check_explanation(text_of(graph, steps), table_, bitwise_);
    EXPECT_TRUE(checked) << (checked ? "" : checked.error().message) << "\n"
                         << text_of(graph, steps);
  }

  void refused(const std::string& graph, const std::vector<std::string>& steps,
               const std::string& because) {
    const auto checked = checker::check_explanation(text_of(graph, steps), table_, bitwise_);
    ASSERT_FALSE(checked) << text_of(graph, steps);
    EXPECT_NE(checked.error().message.find(because), std::string::npos)
        << checked.error().message << "\n"
        << text_of(graph, steps);
  }

  std::vector<Substitution> rules_;
  checker::RuleTable table_;
  checker::RuleNames bitwise_;
};

constexpr const char* defined_reason = "nothing shows that its left side is defined";
constexpr const char* no_path = "the steps do not lead";

const std::string inputs = "  input %0 \"input x\" : f32[4]\n  input %1 \"input y\" : f32[4]\n";

std::string outputs(const std::string& before, const std::string& after) {
  return "  output \"before z\" = " + before + "\n  output \"after z\" = " + after + "\n";
}

const std::string quotient = inputs + "  %2 = Div(%0, %1) : f32[4]\n  %3 = Mul(%2, %1) : f32[4]\n";
const std::string defined_quotient =
    inputs + "  %2 = Exp(%1) : f32[4]\n  %3 = Div(%0, %2) : f32[4]\n  %4 = Mul(%3, %2) : f32[4]\n";

TEST_F(Explanation, ARefinementOfADefinedTermIsAnEquation) {
  holds(defined_quotient + outputs("%4", "%0"), {"step div_mul forward: x=%0, y=%2, A=[4]"});
  // Then it may be read from right to left.
  holds(defined_quotient + outputs("%0", "%4"), {"step div_mul forward: x=%0, y=%2, A=[4]"});
}

constexpr const char* no_copies = "nothing shows that both are copies";

TEST_F(Explanation, CopiesOfTheSameElementsAreEqual) {
  const std::string parts =
      "  input %0 \"input x\" : f32[3, 2]\n"
      "  %1, %2, %3 = Split{axis=0, split=[1, 1, 1]}(%0) : f32[1, 2], f32[1, 2], f32[1, 2]\n"
      "  %4 = Unsqueeze{axes=[0]}(%1) : f32[1, 1, 2]\n"
      "  %5 = Unsqueeze{axes=[0]}(%2) : f32[1, 1, 2]\n"
      "  %6 = Unsqueeze{axes=[0]}(%3) : f32[1, 1, 2]\n"
      "  %7 = Concat{axis=0}(%4, %5, %6) : f32[3, 1, 2]\n"
      "  %8 = Concat{axis=0}(%5, %4, %6) : f32[3, 1, 2]\n"
      "  %9 = Reshape{shape=[3, 1, 2]}(%0) : f32[3, 1, 2]\n"
      "  %10 = Relu(%9) : f32[3, 1, 2]\n"
      "  %11 = Pad{mode=\"constant\", pads=[0, 0, 0, 1, 0, 0], value=0.0}(%7) : f32[4, 1, 2]\n"
      "  %12 = Slice{starts=[0], ends=[3], axes=[0]}(%11) : f32[3, 1, 2]\n"
      "  %13 = Reshape{shape=[1, 3, 2]}(%0) : f32[1, 3, 2]\n";
  holds(parts + outputs("%7", "%9"), {"copies %7 %9"});
  refused(parts + outputs("%12", "%9"), {"copies %12 %9"}, no_copies);  // by way of other elements
  refused(parts + outputs("%7", "%9"), {}, no_path);
  refused(parts + outputs("%8", "%9"), {"copies %8 %9"}, no_copies);    // another order
  refused(parts + outputs("%10", "%9"), {"copies %10 %9"}, no_copies);  // computed
  refused(parts + outputs("%13", "%9"), {"copies %13 %9"}, no_copies);  // another shape
  refused(parts + outputs("%7", "%9"), {"copies %7"}, "expected 'copies VALUE VALUE'");
  refused(parts + outputs("%7", "%9"), {"copies %7 %99"}, "is no value");
}

TEST_F(Explanation, CopiesHaveSizesThatAreKnown) {
  const std::string parts =
      "  input %0 \"input x\" : f32[n, 2]\n"
      "  %1 = Unsqueeze{axes=[0]}(%0) : f32[1, n, 2]\n"
      "  %2 = Squeeze{axes=[0]}(%1) : f32[n, 2]\n";
  refused(parts + outputs("%2", "%0"), {"copies %2 %0"}, no_copies);
}

TEST_F(Explanation, ATermThatMayBeUndefinedIsReplacedOnly) {
  holds(quotient + outputs("%3", "%0"), {"refine div_mul forward: x=%0, y=%1, A=[4]"});
  refused(quotient + outputs("%3", "%0"), {"step div_mul forward: x=%0, y=%1, A=[4]"},
          defined_reason);
  refused(quotient + outputs("%0", "%3"), {"step div_mul forward: x=%0, y=%1, A=[4]"},
          defined_reason);
  refused(quotient + outputs("%0", "%3"), {"refine div_mul forward: x=%0, y=%1, A=[4]"}, no_path);
  refused(quotient + outputs("%0", "%3"), {"refine div_mul backward: x=%0, y=%1, A=[4]"},
          "cannot be used");
  refused(defined_quotient + outputs("%0", "%4"), {"refine div_mul forward: x=%0, y=%2, A=[4]"},
          no_path);
}

TEST_F(Explanation, RefinementsReachThroughOperatorsAndStages) {
  const std::string below = quotient +
                            "  %4 = Relu(%3) : f32[4]\n  %5 = Relu(%0) : f32[4]\n"
                            "  %6 = Add(%5, %1) : f32[4]\n  %7 = Add(%1, %5) : f32[4]\n"
                            "  %8 = Add(%4, %1) : f32[4]\n";
  holds(below + outputs("%4", "%5"), {"refine div_mul forward: x=%0, y=%1, A=[4]"});
  holds(below +
            "  output \"before z\" = %8\n  output \"stage 1 z\" = %6\n"
            "  output \"after z\" = %7\n",
        {"refine div_mul forward: x=%0, y=%1, A=[4]", "step commutes forward: x=%5, y=%1, A=[4]"});
  refused(below +
              "  output \"before z\" = %7\n  output \"stage 1 z\" = %6\n"
              "  output \"after z\" = %8\n",
          {"refine div_mul forward: x=%0, y=%1, A=[4]", "step commutes forward: x=%5, y=%1, A=[4]"},
          no_path);
  refused(below +
              "  output \"before z\" = %8\n  output \"stage 2 z\" = %6\n"
              "  output \"after z\" = %7\n",
          {"refine div_mul forward: x=%0, y=%1, A=[4]", "step commutes forward: x=%5, y=%1, A=[4]"},
          "is followed by");
  refused(below + "  output \"before z\" = %8\n  output \"stage 1 z\" = %6\n",
          {"refine div_mul forward: x=%0, y=%1, A=[4]"}, "is missing");
}

// Two results that both refine the original are not equal to each other.
TEST_F(Explanation, WhatRefinesOneTermIsNotEqual) {
  bitwise_ = {"double_negation"};
  refused(
      quotient + "  %4 = Neg(%3) : f32[4]\n  %5 = Neg(%4) : f32[4]\n" + outputs("%0", "%5"),
      {"refine div_mul forward: x=%0, y=%1, A=[4]", "step double_negation forward: x=%3, A=[4]"},
      no_path);
}

// x + x = x by x = (x / 0w) 0w: the audit's forgery.
TEST_F(Explanation, TheForgedDoubleIsRefused) {
  const std::string graph =
      inputs +
      "  %2 = ConstantOfShape{data_type=f32, shape=[], value=0.0}() : f32[]\n"
      "  %3 = Mul(%2, %1) : f32[4]\n  %4 = Div(%0, %3) : f32[4]\n  %5 = Mul(%4, %3) : f32[4]\n"
      "  %6 = Add(%0, %0) : f32[4]\n" +
      outputs("%6", "%0");
  for (const char* how : {"step", "refine"}) {
    const std::string step = std::string(how) + " div_mul forward: x=%0, y=%3, A=[4]";
    refused(graph, {step, "step factor forward: x=%4, y=%4, s=%3, A=[4]"},
            how == std::string("step") ? defined_reason : "may carry an infinity");
    refused(graph, {step}, how == std::string("step") ? defined_reason : no_path);
  }
}

// defined(a) follows from a = b, and a = b from defined(a).
TEST_F(Explanation, CirclesProveNothing) {
  const std::string graph = inputs +
                            "  %2 = Log(%0) : f32[4]\n  %3 = Exp(%2) : f32[4]\n"
                            "  %4 = Neg(%3) : f32[4]\n  %5 = Neg(%0) : f32[4]\n" +
                            outputs("%5", "%4");
  refused(graph, {"step log_exp forward: x=%0, A=[4]"}, defined_reason);
  refused(graph, {"step log_exp forward: x=%0, A=[4]", "step log_exp forward: x=%0, A=[4]"},
          defined_reason);
  refused(graph, {"refine log_exp forward: x=%0, A=[4]", "step log_exp forward: x=%0, A=[4]"},
          defined_reason);
}

TEST_F(Explanation, FactsFollowFromEarlierStepsOnly) {
  // That e + e - e is not 0 says the first step.
  const std::string graph =
      inputs +
      "  %2 = Exp(%1) : f32[4]\n  %3 = Add(%2, %2) : f32[4]\n  %4 = Sub(%3, %2) : f32[4]\n"
      "  %5 = Div(%0, %4) : f32[4]\n  %6 = Mul(%5, %4) : f32[4]\n" +
      outputs("%6", "%0");
  const std::string first = "step cancels forward: x=%2, A=[4]";
  const std::string second = "step div_mul forward: x=%0, y=%4, A=[4]";
  holds(graph, {first, second});
  refused(graph, {second, first}, defined_reason);
  refused(graph, {second}, defined_reason);
}

TEST_F(Explanation, InputsThatHaveToBeDefined) {
  const std::string graph =
      inputs +
      "  %2 = Sqrt(%0) : f32[4]\n  %3 = Mul(%2, %1) : f32[4]\n  %4 = Mul(%1, %2) : f32[4]\n"
      "  %5 = Add(%3, %4) : f32[4]\n  %6 = Add(%1, %1) : f32[4]\n  %7 = Mul(%6, %2) : f32[4]\n" +
      outputs("%5", "%7");
  refused(graph, {"step absorbs forward: x=%2, y=%1, A=[4]"}, "nothing shows that 'x' is defined");
  refused(graph, {"refine absorbs forward: x=%2, y=%1, A=[4]"},
          "nothing shows that 'x' is defined");
  std::string other = graph;
  other.replace(other.find("Sqrt"), 4, "Relu");
  holds(other, {"step absorbs forward: x=%2, y=%1, A=[4]"});
}

TEST_F(Explanation, InfinitiesAreForBitwiseRules) {
  const std::string graph =
      inputs +
      "  %2 = ConstantOfShape{data_type=f32, shape=[], value=-inf}() : f32[]\n"
      "  %3 = Add(%0, %2) : f32[4]\n  %4 = Add(%3, %1) : f32[4]\n  %5 = Add(%1, %3) : f32[4]\n" +
      outputs("%4", "%5");
  refused(graph, {"step commutes forward: x=%3, y=%1, A=[4]"}, "'x' may carry an infinity");
  refused(graph, {"refine commutes forward: x=%3, y=%1, A=[4]"}, "'x' may carry an infinity");
  bitwise_ = {"commutes"};
  holds(graph, {"step commutes forward: x=%3, y=%1, A=[4]"});
  bitwise_ = {};
  std::string finite = graph;
  finite.replace(finite.find("-inf"), 4, "-1e9");
  EXPECT_TRUE(checker::check_explanation(
      text_of(finite, {"step commutes forward: x=%3, y=%1, A=[4]"}), table_))
      << finite;
}

TEST_F(Explanation, AQuotientThatMayBeByZeroIsAnInfinityToo) {
  const std::string graph =
      quotient + "  %4 = Add(%2, %0) : f32[4]\n  %5 = Add(%0, %2) : f32[4]\n" + outputs("%4", "%5");
  refused(graph, {"step commutes forward: x=%2, y=%0, A=[4]"}, "'x' may carry an infinity");
}

TEST_F(Explanation, WhatIsNaNLooksAtKeepsItsBits) {
  const std::string graph =
      inputs +
      "  %2 = Sqrt(%0) : f32[4]\n  %3 = Add(%2, %1) : f32[4]\n  %4 = Add(%1, %2) : f32[4]\n"
      "  %5 = IsNaN(%3) : bool[4]\n  %6 = IsNaN(%4) : bool[4]\n" +
      outputs("%5", "%6");
  refused(graph, {"step commutes forward: x=%2, y=%1, A=[4]"}, "something looks for NaN");
  refused(graph, {"refine commutes forward: x=%2, y=%1, A=[4]"}, "something looks for NaN");
  bitwise_ = {"commutes"};
  holds(graph, {"step commutes forward: x=%2, y=%1, A=[4]"});
}

TEST_F(Explanation, WhatAnOpaqueOperatorTakesIsEqual) {
  const std::string graph = quotient +
                            "  output \"before into opaque W#0\" = %3\n"
                            "  output \"after into opaque W#0\" = %0\n";
  refused(graph, {"refine div_mul forward: x=%0, y=%1, A=[4]"}, "something looks for NaN");
  bitwise_ = {"div_mul"};
  refused(graph, {"refine div_mul forward: x=%0, y=%1, A=[4]"}, no_path);
}

TEST_F(Explanation, AnOpaqueOperatorHandsInfinitiesOn) {
  const auto graph = [](const std::string& number) {
    return "  input %0 \"input x\" : f32[4]\n  input %1 \"input opaque W#0\" : f32[4]\n"
           "  %2 = ConstantOfShape{data_type=f32, shape=[], value=" +
           number +
           "}() : f32[]\n  %3 = Add(%0, %2) : f32[4]\n  %4 = Add(%0, %1) : f32[4]\n"
           "  %5 = Add(%1, %0) : f32[4]\n  output \"before into opaque W#0\" = %3\n"
           "  output \"after into opaque W#0\" = %3\n" +
           outputs("%4", "%5");
  };
  const std::string step = "step commutes forward: x=%0, y=%1, A=[4]";
  holds(graph("1.0"), {step});
  refused(graph("inf"), {step}, "'y' may carry an infinity");
}

TEST_F(Explanation, WhatIsGivenOfConstantsIsShown) {
  std::string graph = quotient + outputs("%0", "%3");
  const std::string name = "constant 0 digest 0123456789abcdef";
  graph.replace(graph.find("input y"), 7, name);
  const std::string step = "step div_mul forward: x=%0, y=%1, A=[4]";
  const std::string text = text_of(graph, {"given %1: defined finite nonzero [1, 2]", step});
  const auto checked = checker::check_explanation(text, table_);
  ASSERT_TRUE(checked) << checked.error().message;
  ASSERT_EQ(checked->unchecked.size(), 1U);
  EXPECT_NE(checked->unchecked[0].find("'" + name + "' is defined finite nonzero [1, 2]"),
            std::string::npos);
  refused(graph, {"given %1: defined finite [-1, 2]", step}, defined_reason);
  refused(graph, {"given %1: finite nonzero [1, 2]", step}, defined_reason);
  refused(graph, {"given %1: defined nonzero inf [1, inf]", step}, "may carry an infinity");
  refused(graph, {"given %2: defined finite nonzero [1, 2]", step}, "it is no input");
  refused(graph, {"given %1: defined finite nonzero [1, 2] ", step}, "does not say");
  refused(graph, {"given %1: everything", step}, "does not say");
}

TEST_F(Explanation, EmptyAxesHaveNoMaximum) {
  const std::string graph =
      "  input %0 \"input x\" : f32[4, N]\n  %1 = ReduceMax{axes=[1], keepdims=0}(%0) : f32[4]\n"
      "  %2 = Exp(%1) : f32[4]\n  %3 = Log(%2) : f32[4]\n  %4 = Exp(%3) : f32[4]\n" +
      outputs("%4", "%2");
  refused(graph, {"step log_exp forward: x=%2, A=[4]"}, "");
  std::string positive = graph;
  positive.replace(positive.find("4, N"), 4, "4, N + 1");
  holds(positive, {"step log_exp forward: x=%2, A=[4]"});
}

TEST_F(Explanation, TheOldFormatIsRefused) {
  std::string text =
      text_of(defined_quotient + outputs("%4", "%0"), {"step div_mul forward: x=%0, y=%2, A=[4]"});
  text.replace(text.find("explanation 2"), 13, "explanation 1");
  EXPECT_FALSE(checker::check_explanation(text, table_));
}

}  // namespace
}  // namespace lemma
