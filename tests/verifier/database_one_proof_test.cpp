// Rules that have one proof of the two: they are set apart with a reason, and not loaded with the others.

#include <gtest/gtest.h>

#include "tests/verifier/database_folder.h"

namespace lemma::verifier {
namespace {

class OneProof : public DatabaseFolder {
 protected:
  void SetUp() override {
    DatabaseFolder::SetUp();
    write("substitutions/a.rules", "# Sums.\n\n" + std::string(swap) + "\n# Not yet.\n" + by_index +
                                       "\n" + by_axioms + "\n# Products.\n" + product);
  }
  DatabaseVerification verified() {
    auto verification = verify_database(folder_);
    EXPECT_TRUE(verification) << verification.error().message;
    const AxiomRecordTable axiom_table = table_of(verification->axiom_records());
    for (VerifiedRule& rule : verification->rules)
      if (rule.name == "lone") {
        EXPECT_TRUE(rule.proofs.has_both());
        rule.proofs.index = {};
        rule.proofs.index.reason = "taken away\nby the test";
        rule.record.index.clear();
        rule.record.digest = sealed_digest(rule.record, rule.rule, axiom_table);
      }
    return std::move(*verification);
  }
  void write_verified() {
    const auto written = write_proofs(folder_, verified());
    ASSERT_TRUE(written) << written.error().message;
  }
  std::string refusal_of_one_proof() {
    const auto loaded = load_one_proof_rules(folder_);
    return loaded ? "" : loaded.error().message;
  }
};

TEST_F(OneProof, IsToldFromTwo) {
  const DatabaseVerification verification = verified();
  ASSERT_EQ(verification.rules.size(), 4U);
  EXPECT_EQ(verification.proved(), 4U);
  EXPECT_EQ(verification.proved_twice(), 2U);
  EXPECT_FALSE(verification.complete());
  const TwoProofs &sum = verification.rules[0].proofs, &index = verification.rules[1].proofs,
                  &certificate = verification.rules[2].proofs;
  EXPECT_TRUE(sum.has_both());
  EXPECT_EQ(reason_for_one(sum), "");
  EXPECT_TRUE(index.index.proved && !index.has_certificate());
  EXPECT_TRUE(reason_for_one(index).starts_with("no certificate: ")) << reason_for_one(index);
  EXPECT_TRUE(certificate.has_certificate() && !certificate.index.proved);
  EXPECT_EQ(reason_for_one(certificate), "no index proof: taken away;by the test");
}

TEST_F(OneProof, IsNotLoadedWhereItStands) {
  const DatabaseVerification verification = verified();
  std::vector<ProofRecord> records;
  for (const VerifiedRule& rule : verification.rules) records.push_back(rule.record);
  write_verified();
  write("substitutions/b.rules", std::string(by_index) + "\n" + by_axioms);
  write(rules, proof_file_text(records));
  EXPECT_NE(refusal().find("rules twice (it has no certificate), lone (it has no index proof)"),
            std::string::npos)
      << refusal();
}

TEST_F(OneProof, IsSetApartWithAReason) {
  write_verified();
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(load_rules(folder_)->substitutions().size(), 2U);
  EXPECT_EQ(read("substitutions/a.rules"),
            "# Sums.\n\n" + std::string(swap) + "\n# Products.\n" + product);
  EXPECT_EQ(read("one_proof/a.rules"), "# Not yet.\n" + std::string(by_index) + "\n" + by_axioms);
  const auto apart = load_one_proof_rules(folder_);
  ASSERT_TRUE(apart) << apart.error().message;
  ASSERT_EQ(apart->size(), 2U);
  EXPECT_EQ(apart->at(0).rule.name, "twice");
  EXPECT_TRUE(apart->at(0).reason.starts_with("no certificate: "));
  EXPECT_EQ(apart->at(1).rule.name, "lone");
  EXPECT_TRUE(apart->at(1).reason.starts_with("no index proof: "));
  const auto has = [this](const char* folder, const char* rule) {
    return read_certificates(folder_ / folder)->contains(rule);
  };
  EXPECT_TRUE(has("one_proof", "lone") && has("substitutions", "swap"));
  EXPECT_FALSE(has("substitutions", "lone") || has("one_proof", "swap"));
  EXPECT_TRUE(verified().complete());
}

TEST_F(OneProof, StaysWhatItIsWhenWrittenAgain) {
  write_verified();
  const std::vector<std::string> files = {"substitutions/a.rules", "one_proof/a.rules",
                                          "one_proof/reasons",     "one_proof.proofs",
                                          "substitutions.proofs",  "axioms.proofs"};
  std::vector<std::string> before;
  for (const std::string& file : files) before.push_back(read(file));
  write_verified();
  for (std::size_t i = 0; i < files.size(); ++i) EXPECT_EQ(read(files[i]), before[i]) << files[i];
}

TEST_F(OneProof, ComesBackWithItsSecondProof) {
  write_verified();
  write("axioms/b.axioms", "axiom neg_neg\n  a : [n]\n  Neg(Neg(a)) = a\n");
  write_verified();
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(load_rules(folder_)->substitutions().size(), 3U);
  EXPECT_EQ(load_one_proof_rules(folder_)->size(), 1U);
  EXPECT_EQ(read("one_proof/a.rules"), by_axioms);
  EXPECT_NE(read("substitutions/a.rules").find("\n# Not yet.\nrule twice"), std::string::npos);
}

TEST_F(OneProof, IsComparedWithItsRecord) {
  write_verified();
  const std::string reasons = read("one_proof/reasons"), records = read("one_proof.proofs");
  write("one_proof/reasons", "");
  EXPECT_NE(refusal_of_one_proof().find("twice (no reason is given)"), std::string::npos);
  write("one_proof/reasons", "twice\n");
  EXPECT_NE(refusal_of_one_proof().find("is no line 'RULE: REASON'"), std::string::npos);
  write("one_proof/reasons", reasons);
  set_field("one_proof.proofs", "twice", "index", "-");
  EXPECT_NE(refusal_of_one_proof().find("twice (what it rests on changed"), std::string::npos);
  write("one_proof.proofs", records);
  fs::remove(folder_ / "one_proof" / "a.certificates");
  EXPECT_NE(refusal_of_one_proof().find("lone (its certificate is missing)"), std::string::npos);
  EXPECT_EQ(refusal(), "");  // the others load
}

TEST(RuleFiles, KeepLayoutAndComments) {
  const std::string text =
      "# File.\n\n# One.\nrule one\n  x : [n]\n  # inside\n  A(x) => x\nrule two\n  x : [n]\n"
      "\n\n# Three.\nrule three\n  x : [n]\n# Four.\nrule four\n  x : [n]\n";
  EXPECT_EQ(without_rules(text, {}), std::pair(text, std::string()));
  EXPECT_EQ(
      without_rules(text, {"one", "three"}),
      std::pair(std::string("# File.\n\nrule two\n  x : [n]\n\n\n# Four.\nrule four\n  x : [n]\n"),
                std::string("# One.\nrule one\n  x : [n]\n  # inside\n  A(x) => x\n\n"
                            "# Three.\nrule three\n  x : [n]\n")));
  EXPECT_EQ(without_rules("rule two\n  x : [n]\n", {"two"}).first, "");
}

}  // namespace
}  // namespace lemma::verifier
