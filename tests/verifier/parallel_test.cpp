// Rules for distributed tensors, partial equivalence and gradients, with symbolic numbers of devices: sums over
// products of ranges, over parts of a domain, and with other variables. What is true is proved twice, from the
// definitions and from the axioms; small changes of it are not.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>

#include "rule_language/rule_database.h"
#include "tests/verifier/axiom_mutants.h"
#include "tests/verifier/shipped_axioms.h"
#include "verifier/index/prove_axiom.h"
#include "verifier/prover/prove.h"
#include "verifier/prover/sampling.h"

namespace lemma::verifier {
namespace {

std::vector<Substitution> read(const std::string& name) {
  const bool is_shipped = name == "distribution" || name == "networks" || name == "transformer";
  const std::string file =
      (is_shipped ? "rules/parallel/" : "tests/verifier/parallel/") + name + ".rules";
  const auto contents = read_text_file(file);
  EXPECT_TRUE(contents) << contents.error().message;
  auto parsed = parse_substitutions(*contents, file);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? std::move(*parsed) : std::vector<Substitution>{};
}

const std::vector<std::string> families = {"distribution", "networks", "transformer", "partial",
                                           "gradients"};

/// What has no index proof yet, and why.
const std::set<std::string> without_index_proof = {
    // A sum over all indices of what is read at one of them.
    "g03_gather_as_one_hot_product",
    "t15_gather",
    "t16_gather_elements",
    // The left side has no size before it is known how large the remainder is.
    "t29_conv1d_data_tail",
};

/// What does not follow from the axioms yet, beside these, and why.
const std::set<std::string> without_axiom_proof = {
    // They hold under a condition on sizes, which a certificate does not assume.
    "ii01_conv_slice_halo",
    "ii02_conv_slice_halo_stride_dilation",
    "viii02_tail_of_image",
    // That floordiv(s, s + 1) is 0 is not seen.
    "v02_strided_pointwise_by_reshape",
    // A sum of a replica for each number of axes.
    "a05_reduce_of_replicate",
};

bool follows_from_axioms(const Substitution& rule) {
  return is_proved(prove_from_axioms(rule, shipped_axioms()));
}

class ParallelRules : public testing::TestWithParam<std::string> {};

TEST_P(ParallelRules, HaveAnIndexProof) {
  for (const Substitution& rule : read(GetParam())) {
    if (without_index_proof.contains(rule.name)) continue;
    const IndexProof proof = prove_by_index(rule);
    EXPECT_TRUE(proof.proved) << rule.name << ": " << proof.reason;
  }
}

/// The other proof: a chain of steps, each an instance of a shipped axiom.
TEST_P(ParallelRules, FollowFromTheAxioms) {
  for (const Substitution& rule : read(GetParam())) {
    const bool is_open =
        without_index_proof.contains(rule.name) || without_axiom_proof.contains(rule.name);
    const Verdict verdict = prove_from_axioms(rule, shipped_axioms());
    EXPECT_EQ(is_proved(verdict), !is_open) << rule.name << ": " << text(verdict);
  }
}

std::vector<Substitution> mutants_of(const Substitution& rule) {
  std::vector<Substitution> result;
  for (const std::string& text : mutant_texts(rule)) {
    auto parsed = parse_substitutions(text, "mutant");
    if (!parsed || parsed->size() != 1) continue;
    Substitution& mutant = parsed->front();
    mutant.bidirectional = false;
    for (RuleGroup& group : mutant.groups)
      group.maximum = std::min(group.maximum, group.minimum + 1);
    result.push_back(std::move(mutant));
  }
  return result;
}

TEST_P(ParallelRules, MutantsAreProvedOnlyIfExactEvaluationAgrees) {
  std::size_t mutants = 0, refused = 0, refuted = 0, number = 0;
  // All of them take minutes: bench/proofs index --mutants asks for them.
  const std::size_t every = std::getenv("LEMMA_ALL_MUTANTS") != nullptr ? 1 : 17;
  for (const Substitution& rule : read(GetParam()))
    for (const Substitution& mutant : mutants_of(rule)) {
      if (without_index_proof.contains(rule.name) || number++ % every != 0) continue;
      ++mutants;
      const IndexProof proof = prove_by_index(mutant);
      const Sampling sampling = sample(mutant, {8, 1500, 7});
      if (sampling.counterexample) {
        EXPECT_FALSE(follows_from_axioms(mutant)) << text(mutant);
      }
      refused += proof.proved ? 0 : 1;
      refuted += sampling.counterexample ? 1 : 0;
      if (!proof.proved) continue;
      EXPECT_FALSE(sampling.counterexample) << text(mutant) << sampling.counterexample->assignment;
      EXPECT_FALSE(sample(mutant, {100, 6000, 11}).counterexample) << text(mutant);
      EXPECT_GT(sampling.evaluated, 0U) << text(mutant);
      if (std::getenv("LEMMA_SHOW_TRUE_MUTANTS") != nullptr) std::cout << text(mutant) << "\n";
    }
  std::cout << GetParam() << ": " << mutants << " mutants, " << refused << " refused, " << refuted
            << " refuted by evaluation\n";
  EXPECT_GT(mutants, 10U);
  EXPECT_GE(refused * 10, mutants * 9);
}

INSTANTIATE_TEST_SUITE_P(Families, ParallelRules, testing::ValuesIn(families),
                         [](const auto& family) { return family.param; });

TEST(WrongPartitions, HaveNoIndexProof) {
  const std::vector<Substitution> rules = read("wrong");
  EXPECT_EQ(rules.size(), 13U);
  for (const Substitution& rule : rules) EXPECT_FALSE(prove_by_index(rule).proved) << rule.name;
}

TEST(WrongPartitions, DoNotFollowFromTheAxioms) {
  for (const Substitution& rule : read("wrong"))
    EXPECT_FALSE(follows_from_axioms(rule)) << rule.name;
}

TEST(ParallelRulesOfAllFamilies, AreMany) {
  std::size_t count = 0;
  for (const std::string& family : families) count += read(family).size();
  EXPECT_EQ(count, 129U);
  EXPECT_GE(count - without_index_proof.size() - without_axiom_proof.size(), 120U)
      << "rules with both proofs";
}

}  // namespace
}  // namespace lemma::verifier
