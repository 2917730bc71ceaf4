// Steps one by one, with axioms of their own: which directions and which undefined elements a chain may
// have (docs/certificates.md, "Replaying a case"), and what it may do with real parameters.

#include <gtest/gtest.h>

#include "rule_language/rule_cases.h"
#include "verifier/checker/replay.h"

namespace lemma {
namespace {

constexpr std::string_view axiom_text = R"(axiom zero
  x : [A..]
  param t : type
  Sub(x, x) => Expand{shape=[A..]}(ConstantOfShape{data_type=t, shape=[], value=0.0}())

axiom one
  x : [A..]
  param t : type
  Div(x, x) => Expand{shape=[A..]}(ConstantOfShape{data_type=t, shape=[], value=1.0}())

axiom cancels
  x : [A..]
  y : [A..]
  Sub(Add(x, y), y) => x

axiom inverse
  x : [A..]
  Reciprocal(Reciprocal(x)) => x

axiom logarithm
  x : [A..]
  Exp(Log(x)) => x

axiom greatest
  x : [n]
  Relu(ReduceMax{axes=[0], keepdims=0}(Sub(x, x))) => Relu(Sub(ReduceMax{axes=[0], keepdims=0}(x), ReduceMax{axes=[0], keepdims=0}(x)))

axiom negated
  x : [A..]
  Neg(Neg(x)) = x

axiom commutes
  x : [A..]
  y : [A..]
  Add(x, y) = Add(y, x)

axiom zero_of_defined
  defined x : [A..]
  y : [A..]
  Add(y, Sub(x, x)) & Relu(x) = y & Relu(x)

axiom product_of_defined
  defined x : [A..]
  y : [A..]
  Add(Sub(y, x), x) & Relu(x) = y & Relu(x)

axiom slope
  x : [A..]
  param a : real
  param b : real
  search forward
  Clip{min=a}(Clip{min=b}(x)) = Clip{min=real_max(a, b)}(x)

axiom any_constant
  x : [A..]
  param a : real
  param t : type
  Mul(x, ConstantOfShape{data_type=t, shape=[], value=a}()) = Mul(ConstantOfShape{data_type=t, shape=[], value=a}(), x)

axiom one_constant
  x : [A..]
  param t : type
  Mul(x, ConstantOfShape{data_type=t, shape=[], value=1031.125}()) = Mul(ConstantOfShape{data_type=t, shape=[], value=1031.125}(), x)
)";

const std::vector<Substitution>& axioms() {
  static const std::vector<Substitution> parsed = [] {
    auto result = parse_substitutions(axiom_text, "axioms");
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? std::move(*result) : std::vector<Substitution>{};
  }();
  return parsed;
}

const checker::AxiomTable& table() {
  static const checker::AxiomTable result = [] {
    checker::AxiomTable entries;
    for (const Substitution& axiom : axioms()) entries[axiom.name] = &axiom;
    return entries;
  }();
  return result;
}

/// Why the chain does not prove the rule, in any of its cases; empty if it does.
std::string refusal(const std::string& rule_text, const std::vector<std::string>& lines) {
  const auto rules = parse_substitutions("rule r\n" + rule_text + "\n", "test");
  EXPECT_TRUE(rules) << (rules ? "" : rules.error().message);
  if (!rules) return "unreadable";
  Substitution terms = rules->front();
  checker::Chain chain;
  for (const std::string& line : lines) {
    auto step = checker::parse_step("step " + line, table(), terms);
    EXPECT_TRUE(step) << line << ": " << (step ? "" : step.error().message);
    if (!step) return "unreadable";
    chain.push_back(std::move(*step));
  }
  const auto cases = required_cases(rules->front());
  if (!cases) return cases.error().message;
  for (std::size_t i = 0; i < cases->size(); ++i)
    if (auto done = checker::replay_case(terms, (*cases)[i], chain, i == 0); !done)
      return done.error().message;
  return "";
}

struct Case {
  std::string rule;
  std::vector<std::string> steps;
};

void expect_accepted(const std::vector<Case>& cases) {
  for (const Case& one : cases) EXPECT_EQ(refusal(one.rule, one.steps), "") << one.rule;
}

void expect_refused(const std::vector<Case>& cases, const std::string& reason) {
  for (const Case& one : cases) {
    const std::string message = refusal(one.rule, one.steps);
    EXPECT_NE(message.find(reason), std::string::npos) << one.rule << "\n" << message;
  }
}

const std::string zero = "Expand{shape=[A..]}(ConstantOfShape{data_type=t, shape=[], value=0.0}())";
const std::string one = "Expand{shape=[A..]}(ConstantOfShape{data_type=t, shape=[], value=1.0}())";
const std::string inputs = "  x : [A..]\n  y : [A..]\n  group A : 0..1\n";
const std::string defined = "  defined x : [A..]\n  y : [A..]\n  group A : 0..1\n";
const std::string type = "  param t : type\n";

TEST(Refinements, AreReadForwardInRefinements) {
  expect_accepted({
      {inputs + type + "  Add(Sub(x, x), y) => Add(" + zero + ", y)",
       {"zero forward 0 at 0.0: x=@0.0.0, A=[A..], t=t"}},
      {inputs + type + "  Relu(Div(x, x)) & y => Relu(" + one + ") & y",
       {"one forward 0 at 0.0: x=@0.0.0, A=[A..], t=t"}},
      {inputs + "  Relu(Sub(Add(x, y), y)) & y => Relu(x) & y",
       {"cancels forward 0 at 0.0: x=@0.0.0.0, y=@0.0.1, A=[A..]"}},
      {inputs + "  Reciprocal(Reciprocal(x)) & y => x & y",
       {"inverse forward 0 at 0: x=@0.0.0, A=[A..]"}},
      {inputs + "  Exp(Log(Add(x, y))) => Add(y, x)",
       {"logarithm forward 0 at 0: x=@0.0.0, A=[A..]",
        "commutes forward 0 at 0: x=@0.0, y=@0.1, A=[A..]"}},
  });
}

/// Each of these was accepted as long as refinements counted as equations.
TEST(Refinements, AreNotReadBackward) {
  expect_refused(
      {
          {inputs + type + "  Add(" + zero + ", Add(x, y)) => Add(Sub(x, x), Add(x, y))",
           {"zero backward 0 at 0.0: x=@0.1.0, A=[A..], t=t"}},
          {inputs + type + "  Add(" + zero +
               ", Add(x, y)) => Add(Sub(Div(x, y), Div(x, y)), Add(x, y))",
           {"zero backward 0 at 0.0: x=Div(x, y), A=[A..], t=t"}},
          {inputs + type + "  Add(" + one + ", Add(x, y)) => Add(Div(x, x), Add(x, y))",
           {"one backward 0 at 0.0: x=@0.1.0, A=[A..], t=t"}},
          {inputs + "  Relu(x) & y => Relu(Sub(Add(x, y), y)) & y",
           {"cancels backward 0 at 0.0: x=@0.0, y=@1, A=[A..]"}},
          {inputs + "  Relu(x) & y => Relu(Sub(Add(x, Log(y)), Log(y))) & y",
           {"cancels backward 0 at 0.0: x=@0.0, y=Log(y), A=[A..]"}},
          {inputs + "  Relu(x) & y => Relu(Reciprocal(Reciprocal(x))) & y",
           {"inverse backward 0 at 0.0: x=@0.0, A=[A..]"}},
          {inputs + "  Add(x, y) => Add(Exp(Log(x)), y)",
           {"logarithm backward 0 at 0.0: x=@0.0, A=[A..]"}},
          {inputs + type + "  Sub(x, x) & y => Sub(Div(x, x), Div(x, x)) & y",
           {"zero forward 0 at 0: x=@0.0, A=[A..], t=t",
            "zero backward 0 at 0: x=Div(x, x), A=[A..], t=t"}},
          {inputs + type + "  Div(x, x) & y => Div(y, y) & y",
           {"one forward 0 at 0: x=@0.0, A=[A..], t=t", "one backward 0 at 0: x=y, A=[A..], t=t"}},
          {defined + type + "  Add(" + zero + ", Add(x, y)) => Add(Sub(y, y), Add(x, y))",
           {"zero backward 0 at 0.0: x=y, A=[A..], t=t"}},
          {defined + type + "  Add(" + zero + ", x) & y => Add(Sub(Log(x), Log(x)), x) & y",
           {"zero backward 0 at 0.0: x=Log(x), A=[A..], t=t"}},
          {defined + type + "  Add(" + one + ", x) & y => Add(Div(x, x), x) & y",
           {"one backward 0 at 0.0: x=x, A=[A..], t=t"}},
          {defined + "  Relu(x) & y => Relu(Sub(Add(x, y), y)) & y",
           {"cancels backward 0 at 0.0: x=@0.0, y=@1, A=[A..]"}},
      },
      "used backward");
}

TEST(Refinements, AreNoEquations) {
  expect_refused(
      {
          {inputs + type + "  Sub(x, x) & x & y = " + zero + " & x & y",
           {"zero forward 0 at 0: x=@0.0, A=[A..], t=t"}},
          {inputs + type + "  Div(x, x) & x & y = " + one + " & x & y",
           {"one forward 0 at 0: x=@0.0, A=[A..], t=t"}},
          {inputs + type + "  Add(Sub(x, x), Add(x, y)) = Add(" + zero + ", Add(x, y))",
           {"zero forward 0 at 0.0: x=@0.0.0, A=[A..], t=t"}},
          {inputs + "  Sub(Add(x, y), y) & y = x & y",
           {"cancels forward 0 at 0: x=@0.0.0, y=@0.1, A=[A..]"}},
          {inputs + "  Reciprocal(Reciprocal(x)) & y = x & y",
           {"inverse forward 0 at 0: x=@0.0.0, A=[A..]"}},
          {inputs + "  Exp(Log(x)) & y = x & y", {"logarithm forward 0 at 0: x=@0.0.0, A=[A..]"}},
          {defined + type + "  Div(x, x) & x & y = " + one + " & x & y",
           {"one forward 0 at 0: x=@0.0, A=[A..], t=t"}},
          {defined + "  Exp(Log(x)) & y = x & y", {"logarithm forward 0 at 0: x=@0.0.0, A=[A..]"}},
          {defined + "  Sub(Add(x, y), y) & y = x & y",
           {"cancels forward 0 at 0: x=@0.0.0, y=@0.1, A=[A..]"}},
          {"  defined x : [n]\n  Relu(ReduceMax{axes=[0], keepdims=0}(Sub(x, x))) = "
           "Relu(Sub(ReduceMax{axes=[0], keepdims=0}(x), ReduceMax{axes=[0], keepdims=0}(x)))",
           {"greatest forward 0 at 0: x=x, n=n"}},
      },
      "for an equation");
}

TEST(Refinements, AreEquationsWhereTheLeftSideIsAlwaysDefined) {
  expect_accepted({
      {defined + type + "  Sub(x, x) & x & y = " + zero + " & x & y",
       {"zero forward 0 at 0: x=@0.0, A=[A..], t=t"}},
      {defined + type + "  Add(" + zero + ", y) & x => Add(Sub(x, x), y) & x",
       {"zero backward 0 at 0.0: x=x, A=[A..], t=t"}},
      {defined + type + "  Sub(Exp(x), Exp(x)) & x & y = " + zero + " & x & y",
       {"zero forward 0 at 0: x=@0.0, A=[A..], t=t"}},
      {defined + type + "  Add(" + zero + ", y) & x = Add(Sub(Tanh(x), Tanh(x)), y) & x",
       {"zero backward 0 at 0.0: x=Tanh(x), A=[A..], t=t"}},
      {"  defined x : [A..]\n  defined y : [A..]\n  group A : 0..1\n  Sub(Add(x, y), y) & y = x & "
       "y",
       {"cancels forward 0 at 0: x=@0.0.0, y=@0.1, A=[A..]"}},
      {"  defined x : [n + 1]\n  Relu(ReduceMax{axes=[0], keepdims=0}(Sub(x, x))) = "
       "Relu(Sub(ReduceMax{axes=[0], keepdims=0}(x), ReduceMax{axes=[0], keepdims=0}(x)))",
       {"greatest forward 0 at 0: x=x, n=n + 1"}},
  });
}

TEST(Refinements, AreNotUsedBelowWhatObservesUndefinedElements) {
  expect_refused(
      {
          {inputs + type + "  IsNaN(Div(x, x)) & y => IsNaN(" + one + ") & y",
           {"one forward 0 at 0.0: x=@0.0.0, A=[A..], t=t"}},
          {inputs + type + "  IsInf(Div(x, x)) & y => IsInf(" + one + ") & y",
           {"one forward 0 at 0.0: x=@0.0.0, A=[A..], t=t"}},
          {inputs + "  Where(IsNaN(Neg(Exp(Log(x)))), x, y) => Where(IsNaN(Neg(x)), x, y)",
           {"logarithm forward 0 at 0.0.0.0: x=@0.0.0.0.0.0, A=[A..]"}},
          {inputs + "  IsNaN(Reciprocal(Reciprocal(x))) & y => IsNaN(x) & y",
           {"inverse forward 0 at 0.0: x=@0.0.0.0, A=[A..]"}},
      },
      "observes NaN");
  expect_accepted({
      {inputs + "  IsNaN(Neg(Neg(x))) & y => IsNaN(x) & y",
       {"negated forward 0 at 0.0: x=@0.0.0.0, A=[A..]"}},
      {inputs + type + "  Where(IsNaN(x), Div(x, x), y) => Where(IsNaN(x), " + one + ", y)",
       {"one forward 0 at 0.1: x=@0.1.0, A=[A..], t=t"}},
  });
}

TEST(Equations, AreReadInBothDirectionsInAnyRule) {
  expect_accepted({
      {inputs + "  Neg(Neg(x)) & y = x & y", {"negated forward 0 at 0: x=@0.0.0, A=[A..]"}},
      {inputs + "  Relu(x) & y = Relu(Neg(Neg(x))) & y",
       {"negated backward 0 at 0.0: x=@0.0, A=[A..]"}},
      {inputs + "  Relu(Div(x, y)) => Relu(Neg(Neg(Div(x, y))))",
       {"negated backward 0 at 0.0: x=@0.0, A=[A..]"}},
  });
}

TEST(DefinedInputs, TakeAlwaysDefinedTermsOnly) {
  expect_accepted({
      {defined + "  Add(y, Sub(x, x)) & x = y & x",
       {"zero_of_defined forward 0 at 0: x=@0.1.0, y=@0.0, A=[A..]"}},
      {defined + "  Add(Sub(y, x), x) & x = y & x",
       {"product_of_defined forward 0 at 0: x=@0.1, y=@0.0.0, A=[A..]"}},
      {defined + "  Relu(y) & x => Relu(Add(Sub(y, Sigmoid(x)), Sigmoid(x))) & x",
       {"product_of_defined backward 0 at 0.0: x=Sigmoid(x), y=@0.0, A=[A..]"}},
  });
  std::vector<Case> wrong = {
      {inputs + "  Add(y, Sub(x, x)) & x = y & x",
       {"zero_of_defined forward 0 at 0: x=@0.1.0, y=@0.0, A=[A..]"}},
      {inputs + "  Add(y, Sub(x, x)) & x => y & x",
       {"zero_of_defined forward 0 at 0: x=@0.1.0, y=@0.0, A=[A..]"}},
      {inputs + "  Neg(y) & x => Neg(Add(y, Sub(x, x))) & x",
       {"zero_of_defined backward 0 at 0.0: x=x, y=@0.0, A=[A..]"}},
      {inputs + "  Add(Sub(y, x), x) & x = y & x",
       {"product_of_defined forward 0 at 0: x=@0.1, y=@0.0.0, A=[A..]"}},
      {inputs + "  Relu(y) & x => Relu(Add(Sub(y, x), x)) & x",
       {"product_of_defined backward 0 at 0.0: x=@1, y=@0.0, A=[A..]"}},
      {defined + "  Add(x, Sub(y, y)) & y = x & y",
       {"zero_of_defined forward 0 at 0: x=@0.1.0, y=@0.0, A=[A..]"}},
      {defined + "  Add(Sub(x, y), y) & y = x & y",
       {"product_of_defined forward 0 at 0: x=@0.1, y=@0.0.0, A=[A..]"}},
  };
  for (const std::string term :
       {"Log(x)", "Sqrt(x)", "Reciprocal(x)", "Div(x, x)", "Pow(x, x)", "Add(x, y)", "Tan(x)",
        "Asin(x)", "Acos(x)", "Atanh(x)", "Acosh(x)", "Neg(Div(x, y))", "Where(Less(x, y), x, x)",
        "Mul(y, x)"})
    wrong.push_back({defined + "  Add(x, y) => Add(Add(x, y), Sub(" + term + ", " + term + "))",
                     {"zero_of_defined backward 0 at 0: x=" + term + ", y=@0, A=[A..]"}});
  EXPECT_GE(wrong.size(), 20U);
  expect_refused(wrong, "the axiom's input 'x' may be undefined here");
}

TEST(RealParameters, AreComparedWithEachOtherOnly) {
  const std::string head = "  x : [A..]\n  group A : 0..1\n  param a : real\n  param b : real\n";
  expect_accepted({
      {head + "  Clip{min=a}(Clip{min=b}(x)) => Clip{min=real_max(a, b)}(x)",
       {"slope forward 0 at 0: x=@0.0.0, A=[A..], a=a, b=b"}},
      {head + "  Clip{min=a}(Clip{min=b}(Clip{min=0.5}(Clip{min=0.25}(x)))) => "
              "Clip{min=real_max(a, b)}(Clip{min=0.5}(x))",
       {"slope forward 0 at 0.0.0: x=@0.0.0.0.0, A=[A..], a=0.5, b=0.25",
        "slope forward 0 at 0: x=@0.0.0, A=[A..], a=a, b=b"}},
  });
  expect_refused(
      {
          // Where a is 1031.125 the number 0.5 is less; for a = 0.1 it is not.
          {head + "  Clip{min=a}(Clip{min=0.5}(x)) & Clip{min=b}(x) => Clip{min=a}(x) & "
                  "Clip{min=b}(x)",
           {"slope forward 0 at 0: x=@0.0.0, A=[A..], a=a, b=0.5"}},
          {head + "  Clip{min=-3.0}(Clip{min=b}(x)) & Clip{min=a}(x) => Clip{min=b}(x) & "
                  "Clip{min=a}(x)",
           {"slope forward 0 at 0: x=@0.0.0, A=[A..], a=-3.0, b=b"}},
      },
      "compares a real parameter with a number");
  const std::string constants =
      "  x : [A..]\n  group A : 0..1\n  param a : real\n  param t : type\n";
  const std::string number = "ConstantOfShape{data_type=t, shape=[], value=a}()";
  expect_accepted({{constants + "  Mul(x, " + number + ") = Mul(" + number + ", x)",
                    {"any_constant forward 0 at 0: x=@0.0, A=[A..], a=a, t=t"}}});
  expect_refused({{constants + "  Mul(x, " + number + ") = Mul(" + number + ", x)",
                   {"one_constant forward 0 at 0: x=@0.0, A=[A..], t=t"}}},
                 "stands for a parameter");
}

}  // namespace
}  // namespace lemma
