// No wrong region or correction has a proof, neither from the definitions nor from the axioms.

#include "tests/partial/wrong_claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "rule_language/rule_database.h"
#include "tests/verifier/axiom_mutants.h"
#include "tests/verifier/shipped_axioms.h"
#include "verifier/index/prove_axiom.h"
#include "verifier/prover/prove.h"
#include "verifier/prover/sampling.h"

namespace lemma::partial {
namespace {

std::vector<Substitution> rules_of(const std::string& file) {
  const auto contents = read_text_file(file);
  EXPECT_TRUE(contents) << contents.error().message;
  auto parsed = parse_substitutions(*contents, file);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? std::move(*parsed) : std::vector<Substitution>{};
}

struct Counts {
  std::size_t claims = 0, refuted = 0, proved = 0, unknown = 0;
};

/// All of them take long: bench/proofs partial asks for them. LEMMA_ALL_MUTANTS=N takes every N-th.
bool takes_all() { return std::getenv("LEMMA_ALL_MUTANTS") != nullptr; }

std::size_t stride(std::size_t usual) {
  const char* given = std::getenv("LEMMA_ALL_MUTANTS");
  return given == nullptr ? usual : static_cast<std::size_t>(std::max(1, std::atoi(given)));
}

/// A changed claim may be true, such as a gap that is wider than need be: what is proved has no counterexample among many
/// instances.
void ask_provers(const Substitution& claim, Counts& counts) {
  ++counts.claims;
  const bool is_refuted = verifier::sample(claim, {24, 3000, 7}).counterexample.has_value();
  const bool is_proved = verifier::prove_by_index(claim).proved;
  const bool follows =
      verifier::is_proved(verifier::prove_from_axioms(claim, verifier::shipped_axioms()));
  EXPECT_FALSE(is_refuted && (is_proved || follows)) << text(claim);
  if (is_proved || follows) {
    EXPECT_FALSE(verifier::sample(claim, {200, 9000, 11}).counterexample) << text(claim);
    if (takes_all()) std::cout << "TRUE " << text(claim) << "\n";
    ++counts.proved;
  } else if (is_refuted) {
    ++counts.refuted;
  } else {
    ++counts.unknown;
    if (takes_all()) std::cout << "UNKNOWN " << text(claim) << "\n";
  }
}

class WrongClaims : public testing::TestWithParam<const char*> {};

TEST_P(WrongClaims, AreNotProved) {
  std::map<std::string, Counts> by_kind;
  Counts all;
  std::size_t number = 0;
  const std::size_t every = stride(23);
  for (const Substitution& rule : rules_of(GetParam()))
    for (const WrongClaim& wrong : wrong_claims_of(rule))
      if (number++ % every == 0) ask_provers(wrong.claim, by_kind[wrong.kind]);
  for (const auto& [kind, counts] : by_kind) {
    std::cout << GetParam() << " " << kind << ": " << counts.claims << " claims, " << counts.refuted
              << " refuted, " << counts.proved << " true and proved, " << counts.unknown
              << " unknown\n";
    all.claims += counts.claims;
    all.refuted += counts.refuted;
    all.proved += counts.proved;
  }
  EXPECT_GT(all.claims, 10U);
  EXPECT_GE(all.refuted * 100, (all.claims - all.proved) * 90);
}

/// Other operators, operands, sizes and numbers on the right side.
TEST_P(WrongClaims, MutantsAreNotProved) {
  Counts all;
  std::size_t number = 0;
  const std::size_t every = stride(97);
  for (const Substitution& rule : rules_of(GetParam()))
    for (const std::string& mutant : verifier::mutant_texts(rule)) {
      auto parsed = parse_substitutions(mutant, "mutant.rules");
      if (!parsed || parsed->size() != 1 || number++ % every != 0) continue;
      parsed->front().bidirectional = false;
      ask_provers(parsed->front(), all);
    }
  std::cout << GetParam() << " mutants: " << all.claims << " claims, " << all.refuted
            << " refuted, " << all.proved << " true and proved, " << all.unknown << " unknown\n";
  EXPECT_GT(all.claims, 10U);
  EXPECT_GE(all.refuted * 100, (all.claims - all.proved) * 90);
}

INSTANTIATE_TEST_SUITE_P(Files, WrongClaims,
                         testing::Values("tests/verifier/parallel/partial.rules",
                                         "rules/substitutions/partial.rules"),
                         [](const auto& file) {
                           return std::string(file.param).starts_with("rules") ? "Shipped"
                                                                               : "Prototypes";
                         });

}  // namespace
}  // namespace lemma::partial
