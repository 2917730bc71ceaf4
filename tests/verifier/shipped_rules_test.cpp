// Every rule that is shipped is proved here, and the shipped records are those of a fresh proof.

#include <gtest/gtest.h>

#include "verifier/verify_database.h"

namespace lemma::verifier {
namespace {

constexpr std::size_t shard_count = 6;

std::vector<ProofRecord> shipped_records() {
  const auto contents = read_text_file("rules/substitutions.proofs");
  EXPECT_TRUE(contents) << contents.error().message;
  const auto records = parse_proof_file(contents.value_or(""), "rules/substitutions.proofs");
  EXPECT_TRUE(records) << records.error().message;
  return records.value_or(std::vector<ProofRecord>{});
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
    EXPECT_TRUE(is_proved(rule.verdict)) << rule.name << ": " << text(rule.verdict);
    const std::size_t position = i * shard_count + GetParam();
    ASSERT_LT(position, records.size()) << "run lemma rules verify --write";
    EXPECT_EQ(text(rule.record), text(records[position])) << "run lemma rules verify --write";
    if (const auto* proved = std::get_if<Proved>(&rule.verdict)) {
      const auto file = read_text_file("rules/certificates/" + rule.name + ".certificate");
      EXPECT_EQ(proved->certificate, file.value_or("")) << "run lemma rules verify --write";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, ShippedRules, testing::Range<std::size_t>(0, shard_count));

TEST(ShippedRecords, AreWrittenAsTheVerifierWritesThem) {
  const std::vector<ProofRecord> records = shipped_records();
  EXPECT_EQ(*read_text_file("rules/substitutions.proofs"), lemma::proof_file_text(records));
  const auto rules = read_substitutions("rules/substitutions", ".rules");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->size(), records.size());
}

TEST(ShippedRules, Load) {
  const auto database = load_rules("rules");
  ASSERT_TRUE(database) << database.error().message;
  EXPECT_GE(database->substitutions().size(), 40U);
}

}  // namespace
}  // namespace lemma::verifier
