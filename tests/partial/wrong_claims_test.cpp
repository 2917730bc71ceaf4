// No wrong region or correction has a proof, neither from the definitions nor from the axioms.

#include "tests/partial/wrong_claims.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "rule_language/rule_database.h"
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

class WrongClaims : public testing::TestWithParam<const char*> {};

/// A changed claim may be true, such as a gap that is wider than need be: what is proved has no counterexample among many
/// instances. All others count, and nearly all of these have one.
TEST_P(WrongClaims, AreNotProved) {
  std::map<std::string, Counts> by_kind;
  Counts all;
  std::size_t number = 0;
  // All of them take minutes: bench/proofs partial asks for them.
  const bool takes_all = std::getenv("LEMMA_ALL_MUTANTS") != nullptr;
  const std::size_t every = takes_all ? 1 : 23;
  for (const Substitution& rule : rules_of(GetParam()))
    for (const WrongClaim& wrong : wrong_claims_of(rule)) {
      if (number++ % every != 0) continue;
      Counts& counts = by_kind[wrong.kind];
      ++counts.claims;
      const bool is_refuted =
          verifier::sample(wrong.claim, {24, 3000, 7}).counterexample.has_value();
      const bool is_proved = verifier::prove_by_index(wrong.claim).proved;
      const bool follows =
          verifier::is_proved(verifier::prove_from_axioms(wrong.claim, verifier::shipped_axioms()));
      EXPECT_FALSE(is_refuted && (is_proved || follows)) << text(wrong.claim);
      if (is_proved || follows) {
        EXPECT_FALSE(verifier::sample(wrong.claim, {200, 9000, 11}).counterexample)
            << text(wrong.claim);
        if (takes_all) std::cout << "TRUE " << text(wrong.claim) << "\n";
        ++counts.proved;
      } else if (is_refuted) {
        ++counts.refuted;
      } else {
        ++counts.unknown;
        if (takes_all) std::cout << "UNKNOWN " << text(wrong.claim) << "\n";
      }
    }
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

INSTANTIATE_TEST_SUITE_P(Files, WrongClaims,
                         testing::Values("tests/verifier/parallel/partial.rules",
                                         "rules/substitutions/partial.rules"),
                         [](const auto& file) {
                           return std::string(file.param).starts_with("rules") ? "Shipped"
                                                                               : "Prototypes";
                         });

}  // namespace
}  // namespace lemma::partial
