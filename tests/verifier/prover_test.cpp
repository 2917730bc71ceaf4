// The prover: false rules die, and a proof is believed only if it checks.

#include <gtest/gtest.h>

#include "rule_language/rule_database.h"
#include "verifier/prover/counterexample.h"
#include "verifier/prover/instances.h"
#include "verifier/prover/prove.h"
#include "verifier/prover/replay.h"
#include "verifier/prover/sampling.h"
#include "verifier/prover/saturate.h"

namespace lemma::verifier {
namespace {

std::vector<Substitution> parse(std::string_view source) {
  auto parsed = parse_substitutions(source, "test");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? std::move(*parsed) : std::vector<Substitution>{};
}

const AxiomSet& shipped_axioms() {
  static const AxiomSet axioms(*read_substitutions("rules/axioms", ".axioms"));
  return axioms;
}

// ---- Rules that do not hold -------------------------------------------------------------------

/// tests/verifier/wrong.rules: none may be proved, and those whose name does not begin with
/// "undefined_" must be refuted by a counterexample with values.
TEST(WrongRules, AreNeverProved) {
  const auto contents = read_text_file("tests/verifier/wrong.rules");
  ASSERT_TRUE(contents) << contents.error().message;
  const std::vector<Substitution> rules = parse(*contents);
  EXPECT_GE(rules.size(), 25U);
  for (const Substitution& rule : rules) {
    const Verdict verdict = prove(rule, shipped_axioms());
    EXPECT_TRUE(is_refuted(verdict)) << rule.name << ": " << text(verdict);
    if (const auto* refuted = std::get_if<Refuted>(&verdict)) {
      EXPECT_FALSE(refuted->difference.empty()) << rule.name;
      EXPECT_TRUE(!refuted->inputs.empty() || rule.name.starts_with("undefined_"))
          << rule.name << ": " << text(verdict);
    }
  }
}

/// Without the counterexamples of exact evaluation they must not be proved either.
TEST(WrongRules, DoNotFollowFromTheAxioms) {
  for (const Substitution& rule : parse(*read_text_file("tests/verifier/wrong.rules"))) {
    const Verdict verdict = prove_from_axioms(rule, shipped_axioms());
    EXPECT_FALSE(is_proved(verdict)) << rule.name << ": " << text(verdict);
  }
}

/// Div(x, x) => 1 and 1 / (1 / x) => x say nothing of x = 0 when read from right to left.
TEST(Directions, OfQuotientsAreKept) {
  const auto verdict_of = [](const std::string& equality) {
    return prove(
        parse("rule r\n  x : [A..]\n  y : [A..]\n  group A : 0..3\n  " + equality + "\n")[0],
        shipped_axioms());
  };
  for (const char* held :
       {"Div(x, Reciprocal(y)) => Mul(x, y)", "Mul(Div(x, y), Div(x, x)) => Div(x, y)",
        "Mul(Sqrt(Abs(x)), Mul(Sqrt(Abs(x)), y)) = Mul(Abs(x), y)",
        "Div(x, y) = Mul(x, Reciprocal(y))"})
    EXPECT_TRUE(is_proved(verdict_of(held))) << held << ": " << text(verdict_of(held));
  for (const char* wrong :
       {"Div(x, Reciprocal(y)) = Mul(x, y)", "Mul(x, y) => Div(x, Reciprocal(y))",
        "Mul(Div(x, y), Div(x, x)) = Div(x, y)", "Add(x, y) => Add(Mul(x, Div(y, y)), y)",
        "Add(x, y) => Add(x, Exp(Log(y)))"})
    EXPECT_FALSE(is_proved(verdict_of(wrong))) << wrong;
}

/// What is claimed is claimed for every real type: a number must be of the type of the inputs.
TEST(Numbers, AreOfTheTypeOfTheInputs) {
  const auto doubled = [](const std::string& parameter, const std::string& type) {
    return parse("rule doubled\n  x : [A..]\n  group A : 0..3\n" + parameter +
                 "  Add(x, x) => Mul(x, ConstantOfShape{" + type + "shape=[], value=2.0}())\n")[0];
  };
  const Verdict verdict = prove(doubled("  param t : type\n", "data_type=t, "), shipped_axioms());
  ASSERT_TRUE(is_proved(verdict)) << text(verdict);
  EXPECT_FALSE(std::get<Proved>(verdict).certificate.empty());
  for (const std::string type : {"", "data_type=f64, "})
    EXPECT_FALSE(is_proved(prove(doubled("", type), shipped_axioms()))) << type;
  // Numbers of two types, of which one only is that of the inputs.
  const auto mixed = parse(
      "rule mixed\n  x : [n]\n  param t : type\n"
      "  Sub(x, x) & x => ConstantOfShape{data_type=f32, shape=[n], value=0.0}() &"
      " Mul(x, ConstantOfShape{data_type=t, shape=[], value=1.0}())\n");
  EXPECT_FALSE(is_proved(prove(mixed[0], shipped_axioms())));
}

/// The shared type is known without it, and a number of another type is another number.
TEST(Numbers, BindTheTypeOfTheInputs) {
  const Substitution rule = parse(
      "rule r\n  x : [n]\n  param t : type\n"
      "  Mul(x, ConstantOfShape{data_type=t, shape=[], value=1.0}()) => x\n")[0];
  const auto binds = [&rule](DataType input, DataType number) {
    const std::vector<TensorType> types = {{input, Shape{Dimension::symbol("n")}},
                                           {number, Shape{}}};
    const std::vector<const TensorType*> inputs = {types.data()};
    const Attributes none, constant = {{"data_type", number}, {"shape", Shape{}}, {"value", 1.0}};
    std::vector<MatchedNode> nodes;
    for (std::uint32_t i = 0; i < rule.terms.size(); ++i) {
      if (rule.terms[i].is_input) continue;
      const bool multiplies = record(rule.terms[i].op).name == "Mul";
      nodes.push_back({TermId{i}, multiplies ? &none : &constant,
                       multiplies ? types : std::vector<TensorType>{}});
    }
    RuleBindings bindings;
    return bind_variables(rule, inputs, nodes, bindings) &&
           bindings.parameters.at("t") == AttributeValue(input);
  };
  EXPECT_TRUE(binds(DataType::f32, DataType::f32));
  EXPECT_TRUE(binds(DataType::f64, DataType::f64));
  EXPECT_FALSE(binds(DataType::f64, DataType::f32));
  EXPECT_FALSE(binds(DataType::i64, DataType::i64));
}

TEST(Canary, TwoInputsAreNotEqual) {
  const Substitution rule =
      parse("rule canary\n  a : [n]\n  b : [n]\n  Identity(a) & Identity(b) => b & a\n")[0];
  EXPECT_TRUE(is_refuted(prove(rule, shipped_axioms())));
  Closure terms;
  const TensorType type{DataType::f32, Shape{Dimension::symbol("n")}};
  const ValueId a = *terms.graph().add_input("a", type), b = *terms.graph().add_input("b", type);
  (void)terms.graph().add("Add", {a, b});
  (void)terms.graph().add("Mul", {b, a});
  for (const ValueId one : {a, b}) {
    (void)terms.graph().add("Softmax", {one}, {{"axis", std::int64_t{0}}});
    (void)terms.graph().add("ReduceSum", {one}, {{"axes", Integers{0}}});
    (void)terms.graph().add("Tanh", {one});
  }
  ProofSearchLimits limits;
  limits.rounds = 5;
  limits.nodes = 600;
  const std::vector<DirectedAxiom> axioms = directed(shipped_axioms().axioms());
  std::vector<const DirectedAxiom*> all;
  for (const DirectedAxiom& axiom : axioms) all.push_back(&axiom);
  Premises premises;
  premises.equations_only = false;
  const ProofSearch saturation = saturate(terms, {{a, b}}, all, premises, limits);
  EXPECT_FALSE(saturation.reached);
  EXPECT_FALSE(replay(terms.graph(), saturation.steps, {{a, b}}));
}

/// tests/verifier/beyond.rules: operators that the shipped rules do not use yet.
TEST(RulesBeyondTheShippedOnes, AreProvedWithCertificates) {
  const std::vector<Substitution> rules = parse(*read_text_file("tests/verifier/beyond.rules"));
  EXPECT_GE(rules.size(), 23U);
  for (const Substitution& rule : rules) {
    const Verdict verdict = prove(rule, shipped_axioms());
    const auto* proved = std::get_if<Proved>(&verdict);
    ASSERT_NE(proved, nullptr) << rule.name << ": " << text(verdict);
    EXPECT_FALSE(proved->certificate.empty()) << rule.name;
  }
}

// ---- Counterexamples --------------------------------------------------------------------------

TEST(Counterexample, IsEvaluatedAgain) {
  for (const Substitution& rule : parse(*read_text_file("tests/verifier/wrong.rules"))) {
    const Verdict verdict = prove(rule, shipped_axioms());
    const auto* refuted = std::get_if<Refuted>(&verdict);
    ASSERT_NE(refuted, nullptr) << rule.name;
    const auto replayed = replay_counterexample(refuted->record);
    ASSERT_TRUE(replayed) << rule.name << ": " << replayed.error().message;
    EXPECT_TRUE(replayed->holds()) << rule.name << ": " << replayed->evaluated;
    EXPECT_EQ(replayed->evaluated, refuted->difference);
  }
}

TEST(Counterexample, OfATrueRuleOrWithOtherElementsDoesNotHold) {
  const auto rules =
      parse("rule wrong\n  x : [n]\n  y : [n]\n  where n == 2\n  Sub(x, y) => Sub(y, x)\n");
  const Verdict verdict = prove(rules[0], shipped_axioms());
  const std::string record = std::get<Refuted>(verdict).record;
  const auto replaced = [&record](const std::string& from, const std::string& to) {
    std::string result = record;
    const std::size_t at = result.find(from);
    EXPECT_NE(at, std::string::npos) << from << record;
    return result.replace(at, from.size(), to);
  };
  const auto holds = [](const std::string& text) {
    const auto replayed = replay_counterexample(text);
    return replayed && replayed->holds();
  };
  EXPECT_TRUE(holds(record));
  EXPECT_FALSE(holds(replaced("Sub(x, y) => Sub(y, x)", "Sub(x, y) => Sub(x, y)")));
  EXPECT_FALSE(holds(replaced("input x f32[2] =", "input x f32[2] = 1")));
  EXPECT_FALSE(holds(replaced("values n=2", "values n=3")));
  EXPECT_FALSE(holds(replaced("difference output", "difference of output")));
  EXPECT_FALSE(holds(replaced("lemma counterexample 1", "lemma counterexample 2")));
  EXPECT_FALSE(holds(replaced("end\n", "")));
}

// ---- Replay -----------------------------------------------------------------------------------

class Replay : public testing::Test {
 protected:
  Replay()
      : axioms_(parse("axiom add_commutes\n  x : [k]\n  y : [k]\n  Add(x, y) = Add(y, x)\n\n"
                      "axiom square\n  x : [k, k]\n  Neg(Neg(x)) => x\n")) {
    const TensorType type{DataType::f32, Shape{Dimension::symbol("n")}};
    a_ = *graph_.add_input("a", type);
    b_ = *graph_.add_input("b", type);
    left_ = *graph_.add("Relu", {*graph_.add("Add", {a_, b_})});
    right_ = *graph_.add("Relu", {*graph_.add("Add", {b_, a_})});
    step_.axiom = &axioms_[0];
    step_.inputs = {a_, b_};
    step_.bindings.dimensions["k"] = Dimension::symbol("n");
  }

  std::vector<Substitution> axioms_;
  Graph graph_;
  ValueId a_, b_, left_, right_;
  AxiomUse step_;
};

TEST_F(Replay, AcceptsAChainOfInstances) {
  EXPECT_TRUE(replay(graph_, {step_}, {{left_, right_}}));
}
TEST_F(Replay, NeedsTheSteps) { EXPECT_FALSE(replay(graph_, {}, {{left_, right_}})); }
TEST_F(Replay, NeedsTheRightStep) {
  step_.inputs = {a_, a_};
  EXPECT_FALSE(replay(graph_, {step_}, {{left_, right_}}));
}
TEST_F(Replay, ChecksEveryGoal) {
  EXPECT_FALSE(replay(graph_, {step_}, {{left_, right_}, {a_, b_}}));
}
TEST_F(Replay, RefusesBindingsThatDoNotFit) {
  step_.bindings.dimensions["k"] = Dimension::symbol("m");
  EXPECT_FALSE(replay(graph_, {step_}, {{left_, right_}}));
}
TEST_F(Replay, RefusesAnAxiomWhoseShapesDoNotFit) {
  const ValueId twice = *graph_.add("Neg", {*graph_.add("Neg", {a_})});
  step_.axiom = &axioms_[1];
  step_.inputs = {a_};
  EXPECT_FALSE(replay(graph_, {step_}, {{twice, a_}}));
}

// ---- Axioms -----------------------------------------------------------------------------------

TEST(Axioms, AllShippedOnesAreEvaluatedOnManyInstances) {
  EXPECT_TRUE(shipped_axioms().refused().empty());
  const auto axioms = read_substitutions("rules/axioms", ".axioms");
  ASSERT_TRUE(axioms) << axioms.error().message;
  for (const Substitution& axiom : *axioms) {
    const Sampling sampling = sample(axiom);
    EXPECT_FALSE(sampling.counterexample) << axiom.name;
    EXPECT_GE(sampling.evaluated, 20U) << axiom.name << ' ' << sampling.failure;
  }
}

TEST(Axioms, WithoutAnyInstanceAreRefused) {
  const AxiomSet axioms(parse("axiom never\n  a : [n, n + 1]\n  MatMul(a, a) => a\n"));
  EXPECT_TRUE(axioms.axioms().empty());
  ASSERT_EQ(axioms.refused().size(), 1U);
}

TEST(Axioms, FalseForGroupedConvolutionsAreRefused) {
  // Two properties that other systems state for all convolutions.
  const AxiomSet axioms(parse(R"(
axiom conv_concat_kernels
  x : [n, g*c, h]
  w : [g*o, c, k]
  v : [g*o, c, k]
  Conv{group=g}(x, Concat{axis=0}(w, v)) => Concat{axis=1}(Conv{group=g}(x, w), Conv{group=g}(x, v))

axiom conv_concat_inputs
  x : [n, g*c, h]
  y : [n, g*c, h]
  w : [g*o, c, k]
  v : [g*o, c, k]
  Conv{group=g}(Concat{axis=1}(x, y), Concat{axis=1}(w, v)) => Add(Conv{group=g}(x, w), Conv{group=g}(y, v))
)"));
  EXPECT_TRUE(axioms.axioms().empty());
}

// ---- Cases ------------------------------------------------------------------------------------

TEST(Cases, RangeOverRanksAndPermutations) {
  const auto cases =
      cases_of(parse("rule r\n  x : [A..]\n  group A : 0..3\n  param p : permutation[len(A)]\n"
                     "  Relu(Transpose{perm=p}(x)) => Transpose{perm=p}(Relu(x))\n")[0]);
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_EQ(cases->size(), 1U + 1U + 2U + 6U);
}

TEST(Cases, CoverBroadcasting) {
  const auto cases =
      cases_of(parse("rule r\n  x : [A..]\n  y : [B..]\n  group A : 0..1\n  group B : 0..1\n"
                     "  Add(x, y) => Add(y, x)\n")[0]);
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_EQ(cases->size(), 3U + 3U);  // one case unless both have an axis: n n, n 1, 1 n
}

TEST(Cases, AreRefusedWhereTheyWouldNotCoverTheRule) {
  // Of all matrix products only outer ones would be among the cases.
  const auto cases =
      cases_of(parse("rule r\n  x : [A..]\n  y : [B..]\n  group A : 2..2\n  group B : 2..2\n"
                     "  MatMul(x, y) => Mul(x, y)\n")[0]);
  EXPECT_FALSE(cases);
}

TEST(Sampling, IsDeterministic) {
  const Substitution rule = parse("rule r\n  x : [n]\n  y : [n]\n  Sub(x, y) => Sub(y, x)\n")[0];
  const Sampling first = sample(rule), second = sample(rule);
  ASSERT_TRUE(first.counterexample && second.counterexample);
  EXPECT_EQ(text(*first.counterexample), text(*second.counterexample));
}

}  // namespace
}  // namespace lemma::verifier
