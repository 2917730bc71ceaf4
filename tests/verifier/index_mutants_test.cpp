// Mutants of the shipped axioms: what has an index proof must agree with exact evaluation, which
// knows nothing of the prover.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "rule_language/rule_database.h"
#include "tests/verifier/axiom_mutants.h"
#include "verifier/index/prove_axiom.h"
#include "verifier/prover/sampling.h"

namespace lemma::verifier {
namespace {

/// Mutants that can be read, with few axes so that those that happen to hold are proved quickly.
std::vector<Substitution> mutants_of(const Substitution& axiom) {
  std::vector<Substitution> result;
  for (const std::string& text : mutant_texts(axiom)) {
    auto parsed = parse_substitutions(text, "mutant");
    if (!parsed || parsed->size() != 1) continue;
    Substitution& mutant = parsed->front();
    mutant.bidirectional = false;
    for (RuleGroup& group : mutant.groups)
      group.maximum = std::min(group.maximum, group.minimum + 2);
    result.push_back(std::move(mutant));
  }
  return result;
}

TEST(Mutants, AreProvedOnlyIfExactEvaluationAgrees) {
  const auto axioms = *read_substitutions("rules/axioms", ".axioms");
  std::size_t mutants = 0, refuted = 0, proved = 0;
  // All of them take minutes: bench/proofs mutants asks for them.
  const std::size_t every = std::getenv("LEMMA_ALL_MUTANTS") != nullptr ? 1 : 36;
  std::size_t number = 0;
  // Each mutant of a claim about several windows takes seconds: bench/proofs mutants asks for those, too.
  constexpr std::size_t most_characters = 700;
  for (const Substitution& axiom : axioms) {
    if (every > 1 && text(axiom).size() > most_characters) continue;
    for (const Substitution& mutant : mutants_of(axiom)) {
      if (number++ % every != 0) continue;
      const Sampling sampling = sample(mutant, {8, 1500, 7});
      const IndexProof proof = prove_by_index(mutant);
      ++mutants;
      refuted += sampling.counterexample ? 1 : 0;
      proved += proof.proved ? 1 : 0;
      EXPECT_FALSE(proof.proved && sampling.counterexample)
          << text(mutant) << sampling.counterexample->assignment;
      EXPECT_FALSE(proof.proved && sampling.evaluated == 0) << text(mutant);
      EXPECT_FALSE(proof.proved && sample(mutant, {100, 6000, 11}).counterexample) << text(mutant);
      if (proof.proved && std::getenv("LEMMA_SHOW_TRUE_MUTANTS") != nullptr)
        std::cout << text(mutant) << "\n";
    }
  }
  std::cout << mutants << " mutants, " << refuted << " refuted, " << proved << " true\n";
  EXPECT_GE(mutants, 500U);
  // Of those that are not true, as the index prover sees it.
  EXPECT_GE(refuted * 100, (mutants - proved) * 98);
  // Some mutants are true, and are seen to be; how many a sample has changes with the axioms.
  EXPECT_GE(proved, every == 1 ? 40U : 1U);
  EXPECT_LE(proved, mutants / 50);
}

}  // namespace
}  // namespace lemma::verifier
