// TASO's rules: reading, writing, what they mean here, and conditions under which they hold.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "ir/rule_database.h"
#include "verifier/checker/certificate.h"
#include "verifier/checker/replay.h"
#include "verifier/conditions/equations.h"
#include "verifier/conditions/infer.h"
#include "verifier/exchange/formulas.h"
#include "verifier/exchange/taso_export.h"
#include "verifier/exchange/taso_import.h"
#include "verifier/prover/sampling.h"

namespace lemma::exchange {
namespace {

using verifier::AxiomSet;
using verifier::ConditionedRule;

std::string small_file() {
  const auto bytes = read_text_file("tests/verifier/exchange/small.pb");
  EXPECT_TRUE(bytes);
  return bytes.value_or("");
}

Substitution parse(std::string_view source) {
  auto parsed = parse_substitutions(source, "test");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? std::move(parsed->at(0)) : Substitution{};
}

const AxiomSet& shipped_axioms() {
  static const AxiomSet axioms(*read_substitutions("rules/axioms", ".axioms"));
  return axioms;
}

ConditionedRule decide(std::string_view source) {
  return verifier::prove_under_conditions(parse(source), shipped_axioms());
}

// ---- The format -------------------------------------------------------------------------------

TEST(TasoFormat, WhatIsWrittenIsReadAgain) {
  const auto rules = read_taso(small_file());
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->size(), 11U);
  EXPECT_EQ(write_taso(*rules), small_file());
  EXPECT_EQ(*read_taso(write_taso(*rules)), *rules);
}

/// A file that ends early is refused, but where it ends between two rules.
TEST(TasoFormat, RefusesEveryOtherBeginning) {
  const std::string bytes = small_file();
  std::size_t read = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto rules = read_taso(std::string_view(bytes).substr(0, size));
    if (!rules) continue;
    ++read;
    EXPECT_EQ(write_taso(*rules), bytes.substr(0, size));
  }
  EXPECT_EQ(read, 10U);
}

/// Whatever a byte is changed to, the answer is an error or rules that can be imported or not.
TEST(TasoFormat, SurvivesEveryChangedByte) {
  const std::string bytes = small_file();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const int flip : {1, 2, 8, 128}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto rules = read_taso(changed);
      if (!rules) continue;
      const ImportedRules imported = import_rules(*rules);
      EXPECT_EQ(imported.rules.size() + imported.left_out.size(), rules->size());
    }
}

TEST(TasoFormat, RefusesOperatorsBeforeTheyAreThere) {
  TasoRule rule;
  rule.source = {{8, {{1, 0}}, {}}, {8, {{-1, 0}}, {}}};
  rule.target = {{8, {{-1, 0}}, {}}};
  rule.outputs = {{{0, 0}, {0, 0}}};
  const auto read = read_taso(write_taso({rule}));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "rule 0: operator 1 is used before it is there");
}

// ---- Meaning ----------------------------------------------------------------------------------

TEST(TasoImport, SaysWhatIsLeftOpen) {
  const ImportedRules imported = import_rules(*read_taso(small_file()));
  ASSERT_EQ(imported.rules.size(), 8U);
  EXPECT_EQ(text(imported.rules[2]),
            "rule taso_002\n"
            "  x1 : [A1.., x1_0, x1_1]\n"
            "  x2 : []\n"
            "  x3 : [A1.., x1_1, x3_1]\n"
            "  MatMul(Mul(x1, x2), x3) => Mul(MatMul(x1, x3), x2)\n");
  EXPECT_EQ(text(imported.rules[5]),
            "rule taso_005\n"
            "  x1 : [x1_0, group_1*x3_1, x1_2, x1_3]\n"
            "  x3 : [x3_0, x3_1, 2, 3]\n"
            "  x2 : [x2_0, group_2*x3_1, x2_2, x2_3]\n"
            "  Concat{axis=0}(Conv{group=group_1, pads=[0, 0, 0, 0], strides=[2, 3]}(x1, x3), "
            "Conv{group=group_2, pads=[0, 0, 0, 0], strides=[2, 3]}(x2, x3)) => "
            "Conv{group=group_1, pads=[0, 0, 0, 0], strides=[2, 3]}(Concat{axis=0}(x1, x2), x3)\n");
}

TEST(TasoImport, NamesWhatItLeavesOut) {
  const ImportedRules imported = import_rules(*read_taso(small_file()));
  const std::vector<std::string> expected = {
      "rule 8: left side: operator 0: operator type 77 has no counterpart here",
      "rule 9: left side: operator 0: SAME padding of an even kernel, or for a stride, depends on "
      "sizes",
      "rule 10: right side: operator 0: there is no axis 0"};
  EXPECT_EQ(imported.left_out, expected);
}

TEST(TasoExport, ReadsBackAsTheSameRule) {
  for (const Substitution& rule : import_rules(*read_taso(small_file())).rules) {
    const auto exported = export_rule(rule);
    ASSERT_TRUE(exported) << rule.name << ": " << exported.error().message;
    EXPECT_EQ(text_without_names(*import_rule(*exported, "other")), text_without_names(rule));
  }
}

TEST(TasoExport, LeavesOutWhatTasoHasNoWordsFor) {
  const auto message = [](std::string_view source) {
    const auto exported = export_rule(parse(source));
    return exported ? "exported" : exported.error().message;
  };
  EXPECT_EQ(message("rule a\n  x : [n, m]\n  y : [m, n]\n  where m == n\n"
                    "  MatMul(x, y) => MatMul(x, y)\n"),
            "TASO would read another rule: no conditions");
  EXPECT_EQ(message("rule a\n  x : [n]\n  Neg(x) => Neg(x)\n"), "the operator Neg");
  EXPECT_EQ(message("rule a\n  x : [n]\n  Relu(x) => x\n"), "an output that is an input");
}

// ---- Conditions -------------------------------------------------------------------------------

constexpr std::string_view two_convolutions =
    "rule two_convolutions\n"
    "  x : [n, g*c, y, z]\n"
    "  v : [o, c, 3, 3]\n"
    "  u : [n, h*d, y, z]\n"
    "  w : [o, d, 3, 3]\n"
    "  Add(Conv{group=g, pads=[1, 1, 1, 1]}(x, v), Conv{group=h, pads=[1, 1, 1, 1]}(u, w))\n"
    "    => Conv{group=divide(g*c + h*d, c + d), pads=[1, 1, 1, 1]}(\n"
    "         Concat{axis=1}(x, u), Concat{axis=1}(v, w))\n";

TEST(Conditions, ExcludeGroupsWhereTheyMust) {
  const ConditionedRule decided = decide(two_convolutions);
  ASSERT_TRUE(verifier::is_proved(decided.verdict)) << verifier::text(decided.verdict);
  EXPECT_EQ(std::set<std::string>(decided.added.begin(), decided.added.end()),
            (std::set<std::string>{"g == 1", "h == 1"}));
  EXPECT_TRUE(verifier::is_refuted(decided.unconditional));
  EXPECT_EQ(decided.rule.conditions.size(), 2U) << "the conditions are part of what is proved";
  EXPECT_FALSE(std::get<verifier::Proved>(decided.verdict).witness.empty());
}

TEST(Conditions, AreWhatTheRightSideNeeds) {
  const ConditionedRule decided = decide(
      "rule exchange\n  a : [m, p]\n  b : [m, q]\n  c : [n, r]\n  d : [n, p + q - r]\n"
      "  Concat{axis=0}(Concat{axis=1}(a, b), Concat{axis=1}(c, d))\n"
      "    => Concat{axis=1}(Concat{axis=0}(a, c), Concat{axis=0}(b, d))\n");
  ASSERT_TRUE(verifier::is_proved(decided.verdict)) << verifier::text(decided.verdict);
  EXPECT_EQ(decided.added, std::vector<std::string>{"r == p"});
}

TEST(Conditions, AreNotAddedToWhatIsTrue) {
  const ConditionedRule decided = decide(
      "rule associates\n  a : [m, k]\n  b : [k, l]\n  c : [l, n]\n"
      "  MatMul(MatMul(a, b), c) => MatMul(a, MatMul(b, c))\n");
  EXPECT_TRUE(verifier::is_proved(decided.verdict));
  EXPECT_TRUE(decided.added.empty());
}

TEST(Conditions, DoNotSaveWhatIsFalse) {
  for (const std::string_view source :
       {"rule relu_is_nothing\n  x : [n, m]\n  Relu(x) => x\n",
        "rule sums_are_products\n  x : [n]\n  y : [n]\n  Add(x, y) => Mul(x, y)\n",
        "rule relu_of_sum\n  x : [n]\n  y : [n]\n  Add(Relu(x), y) => Relu(Add(x, y))\n"}) {
    const ConditionedRule decided = decide(source);
    EXPECT_TRUE(verifier::is_refuted(decided.verdict)) << source;
    EXPECT_TRUE(decided.added.empty());
  }
}

/// Conditions that exclude instances on which both sides agree are too strong.
void expect_weak_conditions(const std::vector<Substitution>& rules, std::size_t expected) {
  std::size_t conditioned = 0;
  for (const Substitution& rule : rules) {
    const ConditionedRule decided = verifier::prove_under_conditions(rule, shipped_axioms());
    if (!verifier::is_proved(decided.verdict) || decided.added.empty()) continue;
    ++conditioned;
    std::size_t agreeing = 0, kept = 0;
    for (const verifier::LabelledInstance& instance :
         verifier::label_instances(rule, {600, 40'000, 99})) {
      Substitution conditions = decided.rule;
      conditions.inputs = rule.inputs;  // whose variables the instance has
      const bool meets = conditions_hold(conditions, instance.bindings);
      EXPECT_TRUE(instance.holds || !meets) << rule.name;
      agreeing += instance.holds ? 1 : 0;
      kept += instance.holds && meets ? 1 : 0;
    }
    EXPECT_GT(agreeing, 0U) << rule.name;
    EXPECT_EQ(kept, agreeing) << rule.name;
  }
  EXPECT_EQ(conditioned, expected);
}

TEST(Conditions, KeepAllInstancesOnWhichTheSidesAgree) {
  expect_weak_conditions(import_rules(*read_taso(small_file())).rules, 4);
}

TEST(Conditions, KeepAllInstancesOnWhichTheSidesOfTasosRulesAgree) {
  const char* shared = std::getenv("LEMMA_SHARED");
  const auto bytes =
      read_text_file(std::filesystem::path(shared != nullptr ? shared : "../shared") /
                     "peers/taso/graph_subst.pb");
  if (!bytes) GTEST_SKIP() << "TASO's file is absent";
  const ImportedRules imported = import_rules(*read_taso(*bytes));
  EXPECT_EQ(imported.rules.size(), 133U);
  expect_weak_conditions(imported.rules, 28);
}

// ---- Certificates under conditions ------------------------------------------------------------

class ConditionedCertificate : public testing::Test {
 protected:
  void SetUp() override {
    const ConditionedRule decided = decide(two_convolutions);
    ASSERT_TRUE(verifier::is_proved(decided.verdict));
    certificate_ = std::get<verifier::Proved>(decided.verdict).certificate;
    for (const Substitution& axiom : shipped_axioms().axioms()) table_[axiom.name] = &axiom;
  }
  std::string certificate_;
  checker::AxiomTable table_;
  Digests digests_;
};

TEST_F(ConditionedCertificate, HoldsAndNotWithoutTheCondition) {
  auto certificate = checker::parse_certificate(certificate_, table_, digests_);
  ASSERT_TRUE(certificate) << certificate.error().message;
  EXPECT_TRUE(checker::check(*certificate));
  for (std::size_t i = 0; i < certificate->rule.conditions.size(); ++i) {
    checker::Certificate weaker = *certificate;
    weaker.rule.conditions.erase(weaker.rule.conditions.begin() + static_cast<std::ptrdiff_t>(i));
    weaker.terms.conditions = weaker.rule.conditions;
    EXPECT_FALSE(checker::check(weaker)) << "without condition " << i;
  }
}

TEST_F(ConditionedCertificate, BecomesAProblemWithGuards) {
  const auto certificate = checker::parse_certificate(certificate_, table_, digests_);
  ASSERT_TRUE(certificate);
  const auto problems = problems_of(*certificate);
  ASSERT_TRUE(problems) << problems.error().message;
  ASSERT_EQ(problems->size(), 1U);
  const std::string tptp_text = tptp(problems->at(0)), smtlib_text = smtlib(problems->at(0));
  EXPECT_NE(tptp_text.find("![V1, V2, V3, V4]: ((t"), std::string::npos);
  EXPECT_NE(tptp_text.find("fof(goal, conjecture, (f"), std::string::npos);
  EXPECT_NE(smtlib_text.find("(assert (not (and true (= (f"), std::string::npos);
}

/// A rule whose sides are the same term needs no step; another one does.
TEST(Certificates, WithoutStepsProveNothingButTheSame) {
  const std::string source = "rule same\n  x : [n]\n  Relu(x) => Relu(x)\n";
  const ConditionedRule decided = decide(source);
  ASSERT_TRUE(verifier::is_proved(decided.verdict));
  checker::AxiomTable table;
  Digests digests;
  auto certificate = checker::parse_certificate(
      std::get<verifier::Proved>(decided.verdict).certificate, table, digests);
  ASSERT_TRUE(certificate) << certificate.error().message;
  EXPECT_TRUE(checker::check(*certificate));
  certificate->rule = certificate->terms =
      parse("rule same\n  x : [n]\n  Relu(x) => Relu(Relu(x))\n");
  EXPECT_FALSE(checker::check(*certificate));
}

// ---- Equations --------------------------------------------------------------------------------

TEST(SizeEquations, SolveForTheLaterSymbol) {
  const Dimension a = Dimension::symbol("a"), b = Dimension::symbol("b"),
                  c = Dimension::symbol("c");
  verifier::SizeEquations equations({"a", "b", "c"});
  equations.add(a + b - c - Dimension(2));
  EXPECT_EQ(equations.reduced(c), a + b - Dimension(2));
  equations.add(a * b - a * a);
  ASSERT_EQ(equations.open().size(), 1U) << "a may be 0";
  equations.solve(true);
  EXPECT_TRUE(equations.open().empty());
  EXPECT_EQ(equations.reduced(c), a + a - Dimension(2));
  EXPECT_EQ(verifier::size_text(b - a - c * b), "b - b*c - a");
}

}  // namespace
}  // namespace lemma::exchange
