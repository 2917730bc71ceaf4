#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "rule_language/rule_cases.h"
#include "rule_language/rule_database.h"
#include "tests/verifier/shipped_axioms.h"
#include "verifier/checker/replay.h"
#include "verifier/prover/prove.h"

namespace lemma {
namespace {

using checker::AxiomTable;
using checker::Certificate;
using verifier::shipped_axioms;

const AxiomTable& table() {
  static const AxiomTable result = [] {
    AxiomTable entries;
    for (const Substitution& axiom : shipped_axioms().axioms()) entries[axiom.name] = &axiom;
    return entries;
  }();
  return result;
}

Substitution rule(std::string_view text) {
  auto rules = parse_substitutions(text, "test");
  EXPECT_TRUE(rules) << (rules ? "" : rules.error().message);
  return std::move(rules->at(0));
}

std::string certificate_of(std::string_view text) {
  const verifier::Verdict verdict = prove(rule(text), shipped_axioms());
  const auto* proved = std::get_if<verifier::Proved>(&verdict);
  EXPECT_NE(proved, nullptr) << verifier::text(verdict);
  return proved == nullptr ? "" : proved->certificate;
}

/// Empty if the certificate holds.
std::string refusal(std::string_view text) {
  Digests digests;
  const auto certificate = checker::parse_certificate(text, table(), digests);
  if (!certificate) return certificate.error().message;
  const auto checked = checker::check(*certificate);
  return checked ? "" : checked.error().message;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

constexpr std::string_view two_steps =
    "rule two_steps\n  x : [A..]\n  y : [A..]\n  Relu(Neg(Add(x, y))) => Relu(Add(Neg(y), "
    "Neg(x)))\n";

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Certificate, OfANewProofHolds) {
  const std::string text = certificate_of(two_steps);
  EXPECT_EQ(refusal(text), "");
  EXPECT_EQ(text, certificate_of(two_steps));
  std::string cases;
  for (const char* shape : {"[]", "[A.0]", "[A.0, A.1]", "[A.0, A.1, A.2]"})
    cases += fmt::format("case A={0} -> {0} by 1\n", shape);
  EXPECT_NE(text.find(fmt::format("cases 4 {}\nchain 1\n", sha256(cases))), std::string::npos);
}

TEST(Certificate, OfBothDirectionsCoversTheCasesOfBoth) {
  const std::string text = certificate_of(
      "rule both\n  x : [A..]\n  y : [B..]\n  group A : 0..1\n  group B : 0..1\n"
      "  Sub(x, y) = Add(x, Neg(y))\n");
  EXPECT_EQ(refusal(text), "");
}

TEST(Certificate, SpeaksOfOutputsOfOneNode) {
  const std::string text = certificate_of(
      "rule parts\n  x : [n + m, k]\n"
      "  Split{axis=0, split=[n, m]}(x)#1 & Split{axis=0, split=[n, m]}(x)#0\n"
      "    => Slice{axes=[0], starts=[n], ends=[n + m]}(x) & Slice{axes=[0], starts=[0], "
      "ends=[n]}(x)\n");
  EXPECT_EQ(refusal(text), "");
  EXPECT_NE(text.find("step split_in_two forward 1 at 0:"), std::string::npos) << text;
}

TEST(Certificate, MissesNoCase) {
  const std::string text = certificate_of(two_steps);
  EXPECT_EQ(refusal(replaced(text, "cases 4 ", "cases 3 ")),
            "the cases are not those that the rule demands: 3 instead of 4");
  const std::size_t digest = text.find("cases 4 ") + 8;
  EXPECT_EQ(refusal(replaced(text, text.substr(digest, 64), sha256("others"))),
            "the cases are not those of the digest, or their shapes, or their chains");
}

TEST(Certificate, StepsThatRestOnOneElementTypeAreRefused) {
  // Shapes and terms fit; the axiom is about f32 only.
  const std::string claim = "rule cast\n  x : [A..]\n  Cast{to=f32}(x) => x\n";
  EXPECT_FALSE(verifier::is_proved(prove(rule(claim), shipped_axioms())));
}

TEST(Certificate, OfAnEquationSpeaksOfTheTypesOfEitherSide) {
  // With f64 only the right side is well typed: then the sides cannot be equal.
  const std::string inputs = "rule zero\n  x : [A..]\n  group A : 0..1\n";
  const std::string zero = "ConstantOfShape{data_type=f32, shape=[], value=0.0}()";
  const std::string proof = certificate_of(inputs + "  Add(x, " + zero + ") => x\n");
  EXPECT_EQ(refusal(proof), "");
  const std::string equation = inputs + "  Add(x, " + zero + ") = x\n";
  EXPECT_FALSE(verifier::is_proved(prove(rule(equation), shipped_axioms())));
  std::string forged = replaced(proof, ") => x", ") = x");
  const std::size_t id = forged.find("id ") + 3;
  forged.replace(id, 64, sha256(text(rule(equation))));
  EXPECT_NE(refusal(forged).find("f64: the left side is not well typed"), std::string::npos)
      << refusal(forged);
}

TEST(Certificate, ContradictoryConditionsHaveNoWitness) {
  const verifier::Verdict verdict = prove(
      rule("rule never\n  x : [n, m]\n  where n < n\n  Relu(x) => Neg(x)\n"), shipped_axioms());
  EXPECT_FALSE(verifier::is_proved(verdict));
}

TEST(Certificate, AWitnessHasToMeetTheConditions) {
  const std::string text =
      certificate_of("rule small\n  x : [n, m]\n  where n <= m\n  Relu(Relu(x)) => Relu(x)\n");
  EXPECT_EQ(refusal(text), "");
  const std::size_t at = text.find("witness ");
  const std::string line = text.substr(at, text.find('\n', at) - at);
  EXPECT_NE(refusal(replaced(text, line, "witness m=2, n=3")).find("the conditions"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(text, line, "witness m=2")), "");
  EXPECT_NE(refusal(replaced(text, line, "witness m=2, n=-1")), "");
}

TEST(Certificate, ExtraRunTimeConditionsAreRefused) {
  // Where n is not 3 the right side is not defined, though inference accepts it.
  const verifier::Verdict verdict =
      prove(rule("rule fixed\n  x : [n]\n  y : [n]\n  Mul(x, y) => Reshape{shape=[n]}("
                 "Reshape{shape=[3]}(Mul(x, y)))\n"),
            shipped_axioms());
  EXPECT_FALSE(verifier::is_proved(verdict));
}

TEST(Certificate, DimensionsOfAnAxiomAreNotNegative) {
  const Substitution slices =
      rule("rule slices\n  x : [n]\n  Slice{axes=[0], starts=[0], ends=[n]}(x) => x\n");
  Substitution terms = slices;
  const auto step = checker::parse_step(
      "step slice_of_slice backward 0 at 0: x=x, A=[], C=[], q=n + 1, r=0, s=0, t=-1, u=0", table(),
      terms);
  ASSERT_TRUE(step) << step.error().message;
  const auto cases = cases_of(slices);
  ASSERT_TRUE(cases);
  checker::Replay replay(terms, cases->at(0), DataType::f32);
  ASSERT_TRUE(replay.begin());
  const auto applied = replay.apply(*step);
  ASSERT_FALSE(applied);
  EXPECT_NE(applied.error().message.find("may be negative"), std::string::npos)
      << applied.error().message;
}

TEST(Pack, EachByteBelongsToJustOneCertificate) {
  const std::string one = "lemma certificate 3\nrule one\nend\n",
                    two = "lemma certificate 3\nrule two\nend\n";
  const auto names = [](const std::string& pack) {
    std::string joined, all;
    for (const CertificateSection& section : certificates_of(pack)) {
      joined += fmt::format("{}:{} ", section.rule, section.line);
      all += section.text;
    }
    EXPECT_EQ(all, pack);
    return joined;
  };
  EXPECT_EQ(names(""), "");
  EXPECT_EQ(names(one + two), "one:1 two:4 ");
  EXPECT_EQ(names(one.substr(0, one.size() - 4) + two), "one:1 two:3 ");  // no end
  EXPECT_EQ(names(one + two.substr(20)), "one:1 two:4 ");                 // no first line
  EXPECT_EQ(names(one + "stray\n" + two + "x"), "one:1 :4 two:5 :8 ");    // text in between
  EXPECT_EQ(names(one + two.substr(0, two.size() - 5)), "one:1 two:4 ");  // cut off
  EXPECT_EQ(names("\n\n" + one), ":1 one:3 ");
}

TEST(Step, IsReadStrictly) {
  const Substitution start = rule("rule r\n  x : [A..]\n  Relu(Relu(x)) => Relu(x)\n");
  for (const char* line : {"step relu_of_relu forward 0 at 0: x=@0.0.0, A=[A..]",
                           "step relu_of_relu forward 0 at 0: x=x, A=[A..]"}) {
    Substitution terms = start;
    EXPECT_TRUE(checker::parse_step(line, table(), terms)) << line;
  }
  for (const char* line :
       {"", "step", "step relu_of_relu forward 0 at 0", "step relu_of_relu forward 0 at 0: ",
        "step relu_of_relu  forward 0 at 0: x=@0.0.0, A=[A..]",
        "step relu_of_relu sideways 0 at 0: x=@0.0.0, A=[A..]",
        "step relu_of_relu forward 1 at 0: x=@0.0.0, A=[A..]",
        "step relu_of_relu forward -1 at 0: x=@0.0.0, A=[A..]",
        "step relu_of_relu forward 0 at 0.: x=@0.0.0, A=[A..]",
        "step relu_of_relu forward 0 at 00: x=@0.0.0, A=[A..]",
        "step relu_of_relu forward 0 at : x=@0.0.0, A=[A..]",
        "step relu_of_relu forward 0 at 99999999999: x=@0.0.0, A=[A..]",
        "step relu_of_relu forward 0 at 0: A=[A..], x=@0.0.0",
        "step relu_of_relu forward 0 at 0: x=@0.0.0, A=[A..], A=[A..]",
        "step relu_of_relu forward 0 at 0: x=@, A=[A..]",
        "step relu_of_relu forward 0 at 0: x=y, A=[A..]",
        "step relu_of_relu forward 0 at 0: x=@0.0.0, A=[ A..]",
        "step unheard_of forward 0 at 0: x=@0.0.0, A=[A..]"}) {
    Substitution terms = start;
    EXPECT_FALSE(checker::parse_step(line, table(), terms)) << line;
  }
}

TEST(RequiredCases, OfBothDirectionsAreThoseOfEither) {
  const Substitution both = rule(
      "rule both\n  x : [A..]\n  y : [B..]\n  group A : 0..1\n  group B : 0..1\n"
      "  Sub(x, y) = Add(x, Neg(y))\n");
  EXPECT_EQ(required_cases(both)->size(), cases_of(both)->size());
}

}  // namespace
}  // namespace lemma
