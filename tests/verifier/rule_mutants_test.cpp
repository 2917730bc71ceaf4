// Mutants of rules that people wrote: changes of the right side (tests/verifier/axiom_mutants.h), conditions
// dropped, outputs exchanged, sizes of 1 made free. A mutant that the prover accepts must be true: it
// must have an index proof too, which rests on no axiom.

#include <algorithm>
#include <iostream>

#include <gtest/gtest.h>

#include "rule_language/rule_database.h"
#include "tests/verifier/axiom_mutants.h"
#include "tests/verifier/shipped_axioms.h"
#include "verifier/index/prove_axiom.h"
#include "verifier/prover/prove.h"

namespace lemma::verifier {
namespace {

void add_structural_mutants(const Substitution& rule, std::vector<Substitution>& result) {
  for (std::size_t i = 0; i < rule.conditions.size(); ++i) {
    result.push_back(rule);
    result.back().conditions.erase(result.back().conditions.begin() + static_cast<long>(i));
  }
  if (rule.right.size() > 1) {
    result.push_back(rule);
    std::rotate(result.back().right.begin(), result.back().right.begin() + 1,
                result.back().right.end());
  }
  for (std::size_t i = 0; i < rule.inputs.size(); ++i)
    for (std::size_t j = 0; j < rule.inputs[i].shape.size(); ++j) {
      if (rule.inputs[i].shape[j].kind != RuleExpression::Kind::literal) continue;
      result.push_back(rule);
      RuleExpression& size = result.back().inputs[i].shape[j];
      size.kind = RuleExpression::Kind::variable;
      size.name = "free_size";
    }
}

/// Mutants that can be read, with few axes so that those that happen to hold are proved quickly.
std::vector<Substitution> mutants_of(const Substitution& rule) {
  std::vector<Substitution> result;
  std::vector<Substitution> structural;
  add_structural_mutants(rule, structural);
  for (Substitution& mutant : structural)
    if (parse_substitutions(text(mutant), "mutant")) result.push_back(std::move(mutant));
  for (const std::string& text : mutant_texts(rule)) {
    auto parsed = parse_substitutions(text, "mutant");
    if (!parsed || parsed->size() != 1) continue;
    result.push_back(std::move(parsed->front()));
  }
  for (Substitution& mutant : result) {
    mutant.bidirectional = false;
    mutant.is_axiom = false;
    for (RuleGroup& group : mutant.groups)
      group.maximum = std::min(group.maximum, group.minimum + 1);
  }
  return result;
}

TEST(Mutants, OfRulesAreNotAccepted) {
  const auto rules = *parse_substitutions(
      *read_text_file("tests/database/hand_written_first.rules"), "hand_written_first.rules");
  std::size_t mutants = 0, refuted = 0, true_ones = 0;
  for (const Substitution& rule : rules)
    for (const Substitution& mutant : mutants_of(rule)) {
      const Verdict verdict = prove(mutant, shipped_axioms());
      ++mutants;
      refuted += is_refuted(verdict) ? 1 : 0;
      if (is_refuted(verdict)) continue;
      const bool is_true = prove_by_index(mutant).proved;
      true_ones += is_true ? 1 : 0;
      EXPECT_TRUE(is_true || !is_proved(verdict)) << text(mutant) << text(verdict);
    }
  std::cout << mutants << " mutants, " << refuted << " refuted, " << true_ones << " true\n";
  EXPECT_GE(mutants, 1000U);
  EXPECT_GE(refuted * 100, (mutants - true_ones) * 98);
  EXPECT_LE(true_ones, mutants / 20);
}

}  // namespace
}  // namespace lemma::verifier
