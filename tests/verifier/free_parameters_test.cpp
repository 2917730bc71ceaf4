// Rules with free parameters are proved for all values of these, whatever values matching tries.

#include <gtest/gtest.h>

#include "rule_language/rule_database.h"
#include "tests/verifier/axiom_mutants.h"
#include "tests/verifier/shipped_axioms.h"
#include "verifier/checker/replay.h"
#include "verifier/conditions/infer.h"
#include "verifier/index/prove_axiom.h"
#include "verifier/prover/prove.h"
#include "verifier/prover/sampling.h"

namespace lemma::verifier {
namespace {

const std::vector<Substitution>& examples() {
  static const std::vector<Substitution> rules = [] {
    const std::string file = "examples/parallel.rules";
    auto parsed = parse_substitutions(*read_text_file(file), file);
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed ? std::move(*parsed) : std::vector<Substitution>{};
  }();
  return rules;
}

Substitution rule_of(std::string_view text) {
  auto rules = parse_substitutions(text, "test.rules");
  EXPECT_TRUE(rules) << rules.error().message;
  return rules ? std::move(rules->front()) : Substitution{};
}

std::string refusal_of(const std::string& certificate_text) {
  static const checker::AxiomTable table = [] {
    checker::AxiomTable entries;
    for (const Substitution& axiom : shipped_axioms().axioms()) entries[axiom.name] = &axiom;
    return entries;
  }();
  Digests digests;
  const auto certificate = checker::parse_certificate(certificate_text, table, digests);
  if (!certificate) return certificate.error().message;
  const auto checked = checker::check(*certificate);
  return checked ? "" : checked.error().message;
}

TEST(FreeParameters, ExamplesHaveAnIndexProof) {
  EXPECT_GE(examples().size(), 6U);
  for (const Substitution& rule : examples()) {
    const IndexProof proof = prove_by_index(rule);
    EXPECT_TRUE(proof.proved) << rule.name << ": " << proof.reason;
  }
}

TEST(FreeParameters, ExamplesHaveCertificates) {
  std::size_t proved = 0;
  for (const Substitution& rule : examples()) {
    const Verdict verdict = prove(rule, shipped_axioms());
    EXPECT_FALSE(is_refuted(verdict)) << text(verdict);
    const auto* proof = std::get_if<Proved>(&verdict);
    if (proof == nullptr) {
      EXPECT_EQ(rule.name, "images_side_by_side") << text(verdict);  // no axiom merges images
      continue;
    }
    ++proved;
    EXPECT_EQ(refusal_of(proof->certificate), "");
    EXPECT_NE(proof->certificate.find("\n  free "), std::string::npos);
  }
  EXPECT_EQ(proved, examples().size() - 1);
}

/// The example of docs/rules.md.
TEST(FreeParameters, TheDocumentedExampleIsOneOfThem) {
  const std::string document = *read_text_file("docs/rules.md");
  const std::size_t mark = document.find("<!-- example: free -->");
  ASSERT_NE(mark, std::string::npos);
  const std::size_t begin = document.find("```text\n", mark) + 8;
  const Substitution shown = rule_of(document.substr(begin, document.find("```", begin) - begin));
  EXPECT_EQ(text(shown), text(examples().front()));
}

// ---- What is not true -------------------------------------------------------------------------

TEST(FreeParameters, FalseRulesHaveNeitherProof) {
  const std::string file = "tests/verifier/false/free_parameters.rules";
  const auto rules = parse_substitutions(*read_text_file(file), file);
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_GE(rules->size(), 24U);
  for (const Substitution& rule : *rules) {
    EXPECT_FALSE(prove_by_index(rule).proved) << rule.name;
    EXPECT_FALSE(is_proved(prove_from_axioms(rule, shipped_axioms()))) << rule.name;
    EXPECT_TRUE(is_refuted(prove(rule, shipped_axioms()))) << rule.name;
  }
}

/// The values of a list are no condition: a rule has the same proof, or none, with any.
TEST(FreeParameters, NoProofDependsOnTheValues) {
  for (Substitution rule : examples()) {
    const bool proved = is_proved(prove_from_axioms(rule, shipped_axioms()));
    rule.free[0] = {rule.free[0].expression, FreeParameter::Source::list, {1}, {}, 8};
    EXPECT_EQ(is_proved(prove_from_axioms(rule, shipped_axioms())), proved) << rule.name;
    EXPECT_TRUE(prove_by_index(rule).proved) << rule.name;
  }
}

TEST(FreeParameters, MutantsAreProvedOnlyIfExactEvaluationAgrees) {
  std::size_t mutants = 0, refused = 0;
  for (const Substitution& rule : examples()) {
    std::size_t number = 0;
    for (const std::string& text : mutant_texts(rule)) {
      auto parsed = parse_substitutions(text, "mutant");
      if (!parsed || parsed->size() != 1 || number++ % 5 != 0) continue;
      Substitution& mutant = parsed->front();
      for (RuleGroup& group : mutant.groups)
        group.maximum = std::min(group.maximum, group.minimum + 1);
      ++mutants;
      const IndexProof proof = prove_by_index(mutant);
      refused += proof.proved ? 0 : 1;
      if (!proof.proved) continue;
      const Sampling sampling = sample(mutant, {24, 3000, 7});
      EXPECT_FALSE(sampling.counterexample) << text;
    }
  }
  EXPECT_GE(mutants, 30U);
  EXPECT_GE(refused, mutants / 2);
}

// ---- Certificates -----------------------------------------------------------------------------

TEST(FreeParameters, AreCoveredByCertificates) {
  const Verdict verdict = prove(examples().front(), shipped_axioms());
  const auto* proof = std::get_if<Proved>(&verdict);
  ASSERT_NE(proof, nullptr) << text(verdict);
  const std::string& certificate = proof->certificate;
  const std::string line = "  free k : divisors of k*m\n";
  const std::size_t at = certificate.find(line);
  ASSERT_NE(at, std::string::npos);
  for (const char* other : {"", "  free k : 2\n", "  free k : at most 8 divisors of k*m\n",
                            "  free m : 2\n", "  free k : 0\n", "  free k : -2\n"}) {
    std::string mutant = certificate;
    mutant.replace(at, line.size(), other);
    EXPECT_NE(refusal_of(mutant), "") << other;
  }
}

// ---- Conditions that are found ----------------------------------------------------------------

ConditionedRule conditioned(std::string_view text) {
  return prove_under_conditions(rule_of(text), shipped_axioms());
}

TEST(FreeParameters, ArePositiveWhereTheRuleIsNotTrueOtherwise) {
  const ConditionedRule found = conditioned(
      "rule maximum_of_copies\n  x : [A..]\n  group A : 0..2\n  free k : 2, 4\n"
      "  Relu(x) => ReduceMax{axes=[0], keepdims=0}(Expand{shape=[k, A..]}(Relu(x)))\n");
  EXPECT_EQ(found.added, std::vector<std::string>{"k >= 1"});
  EXPECT_TRUE(is_refuted(found.unconditional));
  EXPECT_NE(text(found.rule).find("  param k_less_1 : dimension\n  free k_less_1 + 1 : 2, 4\n"),
            std::string::npos)
      << text(found.rule);
  EXPECT_TRUE(prove_by_index(found.rule).proved);
}

/// No images would be narrower than the window of the convolution.
TEST(FreeParameters, MakeWindowsPositive) {
  std::string stated;
  for (const Substitution& rule : examples())
    if (rule.name == "images_side_by_side") stated = text(rule);
  for (std::size_t at = stated.find("(k + 1)"); at != std::string::npos;
       at = stated.find("(k + 1)"))
    stated.replace(at, 7, "k");
  for (std::size_t at = stated.find("k + 1"); at != std::string::npos; at = stated.find("k + 1"))
    stated.replace(at, 5, "k");
  EXPECT_FALSE(prove_by_index(rule_of(stated)).proved);
  const ConditionedRule found = conditioned(stated);
  EXPECT_TRUE(is_refuted(found.unconditional)) << lemma::verifier::text(found.unconditional);
  EXPECT_EQ(found.added, std::vector<std::string>{"k >= 1"});
  EXPECT_TRUE(prove_by_index(found.rule).proved) << text(found.rule);
}

}  // namespace
}  // namespace lemma::verifier
