// Rules that are shipped are proved here, and the shipped records are those of a fresh proof.

#include <gtest/gtest.h>

#include <ctime>

#include "verifier/verify_database.h"

namespace lemma::verifier {
namespace {

constexpr std::size_t shard_count = 6;

/// Of rules with two proofs, then of those with one, as verify_database() has them.
std::vector<ProofRecord> shipped_records() {
  std::vector<ProofRecord> result;
  for (const char* file : {"rules/substitutions.proofs", "rules/one_proof.proofs"}) {
    const auto records = read_proof_records(file);
    EXPECT_TRUE(records) << records.error().message;
    if (records) result.insert(result.end(), records->begin(), records->end());
  }
  return result;
}

class ShippedRules : public testing::TestWithParam<std::size_t> {};

TEST_P(ShippedRules, AreProvedAsRecorded) {
  VerifyOptions options;
  options.shard = GetParam();
  options.shards = shard_count;
  const auto verification = verify_database("rules", options);
  ASSERT_TRUE(verification) << verification.error().message;
  for (const auto& [name, reason] : verification->refused_axioms)
    ADD_FAILURE() << "axiom " << name << ": " << reason;
  const std::vector<ProofRecord> records = shipped_records();
  ASSERT_FALSE(verification->rules.empty());
  for (std::size_t i = 0; i < verification->rules.size(); ++i) {
    const VerifiedRule& rule = verification->rules[i];
    EXPECT_TRUE(is_proved(rule.verdict())) << rule.name << ": " << text(rule.verdict());
    EXPECT_NE(rule.proofs.has_both(), rule.is_apart) << rule.name << reason_for_one(rule.proofs);
    const std::size_t position = i * shard_count + GetParam();
    ASSERT_LT(position, records.size()) << "run lemma rules verify --write";
    EXPECT_EQ(text(rule.record), text(records[position])) << "run lemma rules verify --write";
    const auto* proved = std::get_if<Proved>(&rule.verdict());
    if (proved != nullptr && rule.proofs.has_certificate()) {
      static const CertificateTable shipped = *read_certificates("rules/substitutions"),
                                    apart = *read_certificates("rules/one_proof");
      const CertificateTable& certificates = rule.is_apart ? apart : shipped;
      const auto recorded = certificates.find(rule.name);
      ASSERT_NE(recorded, certificates.end()) << "run lemma rules verify --write";
      EXPECT_EQ(proved->certificate, recorded->second.text) << "run lemma rules verify --write";
    }
  }
}

// Every sixth rule. `scripts/test --all` proves the others as well; the records of all are compared with their rules below
// (Load), and the certificates of all are checked by two programs (tests/verifier/checker).
INSTANTIATE_TEST_SUITE_P(Sixth, ShippedRules, testing::Values<std::size_t>(0));
INSTANTIATE_TEST_SUITE_P(DISABLED_Others, ShippedRules,
                         testing::Range<std::size_t>(1, shard_count));

TEST(ShippedRecords, AreWrittenAsTheVerifierWritesThem) {
  const auto records = read_proof_records("rules/substitutions.proofs");
  ASSERT_TRUE(records) << records.error().message;
  EXPECT_EQ(*read_text_file("rules/substitutions.proofs"), lemma::proof_file_text(*records));
  const auto rules = read_substitutions("rules/substitutions", ".rules");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->size(), records->size());
}

TEST(ShippedRules, WithOneProofHaveAReason) {
  const auto apart = load_one_proof_rules("rules");
  ASSERT_TRUE(apart) << apart.error().message;
  for (const OneProofRule& one : *apart)
    EXPECT_NE(one.record.certificate.empty(), one.record.index.empty()) << one.rule.name;
}

TEST(ShippedRules, Load) {
  const auto database = load_rules("rules");
  ASSERT_TRUE(database) << database.error().message;
  EXPECT_GE(database->substitutions().size(), 40U);
}

/// What everyone waits for who optimizes a model. Without meanings, which are computed once.
TEST(ShippedRules, LoadQuickly) {
  ASSERT_TRUE(load_rules("rules"));
  const std::clock_t begin = std::clock();  // of the processor: machines may be busy
  ASSERT_TRUE(load_rules("rules"));
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::cout << "loaded again in " << seconds << " s\n";
  EXPECT_LT(seconds, 1.0);
}

}  // namespace
}  // namespace lemma::verifier
