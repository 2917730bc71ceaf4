// What is decided about a candidate of a build is what `lemma rules verify` decides about the same rule.

#include "database/decision.h"

#include <gtest/gtest.h>

#include "database/normal_form.h"
#include "rule_language/rule_database.h"
#include "verifier/verify_database.h"

namespace lemma::database {
namespace {

const verifier::AxiomSet& axioms() {
  static const auto loaded = verifier::load_axioms("rules");
  return loaded->set;
}

std::vector<Substitution> rules() {
  const auto contents = read_text_file("tests/database/decided_alike.rules");
  EXPECT_TRUE(contents);
  auto parsed = parse_substitutions(contents.value_or(""), "decided_alike.rules");
  EXPECT_TRUE(parsed);
  return parsed.value_or(std::vector<Substitution>{});
}

bool has_twice_proved(const Decision& decision) {
  for (const DecidedRule& rule : decision.rules)
    if (rule.reason.empty()) return true;
  return false;
}

TEST(Decision, IsWhatVerifyingDecides) {
  ASSERT_FALSE(rules().empty());
  std::size_t proved = 0, refuted = 0;
  for (const Substitution& rule : rules()) {
    const auto candidate = normal_form(rule);
    ASSERT_TRUE(candidate) << rule.name;
    const verifier::VerifiedRule verified = verifier::verify_candidate(*candidate, axioms());
    const Decision decision = decide(*candidate, axioms());
    EXPECT_EQ(verifier::is_proved(verified.verdict()), !decision.rules.empty())
        << rule.name << ": " << verifier::text(verified.verdict()) << "\nbut " << decision.reason;
    EXPECT_TRUE(!verified.proofs.has_both() || has_twice_proved(decision)) << rule.name;
    if (decision.rules.empty()) {
      EXPECT_EQ(verifier::is_refuted(verified.verdict()),
                decision.outcome == Decision::Outcome::refuted)
          << rule.name;
      ++refuted;
    } else {
      ++proved;
    }
  }
  EXPECT_EQ(proved, 4U);
  EXPECT_EQ(refuted, 1U);
}

TEST(Decision, HasRecordsThatSayWhatIsProved) {
  for (const Substitution& rule : rules()) {
    const auto candidate = normal_form(rule);
    ASSERT_TRUE(candidate) << rule.name;
    for (const DecidedRule& decided : decide(*candidate, axioms()).rules) {
      const verifier::TwoProofs proofs = verifier::prove_twice(decided.rule, axioms());
      EXPECT_TRUE(verifier::is_proved(proofs.verdict)) << text(decided.rule);
      EXPECT_EQ(decided.reason.empty(), proofs.has_both()) << text(decided.rule);
      EXPECT_EQ(decided.record.index.empty(), !proofs.index.proved) << text(decided.rule);
    }
  }
}

}  // namespace
}  // namespace lemma::database
