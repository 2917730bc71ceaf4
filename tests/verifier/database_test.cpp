// A folder of rules on disk: what is not proved, or no longer what was proved, is not loaded.

#include <gtest/gtest.h>

#include <fstream>

#include "verifier/verify_database.h"

namespace lemma::verifier {
namespace {

namespace fs = std::filesystem;

constexpr const char* commutes =
    "axiom add_commutes\n  a : [n]\n  b : [n]\n  Add(a, b) = Add(b, a)\n";
constexpr const char* swaps = "rule swap\n  x : [m]\n  y : [m]\n  Add(x, y) => Add(y, x)\n";
constexpr const char* wrong = "rule wrong\n  x : [m]\n  y : [m]\n  Sub(x, y) => Sub(y, x)\n";
constexpr const char* beyond = "rule beyond\n  x : [m]\n  Neg(Neg(x)) => x\n";

class Database : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / (std::string("lemma_database_test_") +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "axioms");
    fs::create_directories(folder_ / "substitutions");
    write("axioms/a.axioms", commutes);
    write("substitutions/a.rules", swaps);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& file, const std::string& contents) {
    std::ofstream(folder_ / file) << contents;
  }
  void prove_and_write() {
    const auto verification = verify_database(folder_);
    ASSERT_TRUE(verification) << verification.error().message;
    ASSERT_TRUE(verification->complete());
    ASSERT_TRUE(write_proofs(folder_, *verification));
  }
  std::string refusal() {
    const auto database = load_rules(folder_);
    return database ? "" : database.error().message;
  }

  fs::path folder_;
};

TEST_F(Database, LoadsWhatIsProved) {
  prove_and_write();
  const auto database = load_rules(folder_);
  ASSERT_TRUE(database) << database.error().message;
  ASSERT_EQ(database->substitutions().size(), 1U);
  EXPECT_EQ(database->substitutions()[0].name, "swap");
}

TEST_F(Database, NamesACertificateThatIsNotTheOneOnRecord) {
  prove_and_write();
  EXPECT_TRUE(certificate_misfits(folder_)->empty());
  const fs::path file = folder_ / "certificates" / "swap.certificate";
  const std::string contents = *read_text_file(file);
  std::ofstream(file) << contents << "\n";
  const auto altered = certificate_misfits(folder_);
  ASSERT_EQ(altered->size(), 1U);
  EXPECT_EQ(altered->at(0).first, "swap");
  EXPECT_EQ(altered->at(0).second, "the certificate is not the one that was recorded");
  fs::remove(file);
  ASSERT_EQ(certificate_misfits(folder_)->size(), 1U);
  EXPECT_NE(certificate_misfits(folder_)->at(0).second.find("cannot read"), std::string::npos);
  prove_and_write();
  EXPECT_TRUE(certificate_misfits(folder_)->empty());
}

TEST_F(Database, RefusesARuleWithoutRecord) {
  prove_and_write();
  write("substitutions/b.rules", wrong);
  EXPECT_NE(refusal().find("not proved: run lemma rules verify: wrong (no record)"),
            std::string::npos)
      << refusal();
}

TEST_F(Database, RefusesAChangedRule) {
  prove_and_write();
  write("substitutions/a.rules", "rule swap\n  x : [m]\n  y : [m]\n  Sub(x, y) => Sub(y, x)\n");
  EXPECT_NE(refusal().find("swap (changed since it was proved)"), std::string::npos) << refusal();
}

TEST_F(Database, AcceptsAChangeOfLayoutOnly) {
  prove_and_write();
  write("substitutions/a.rules", "# a comment\n\n" + std::string(swaps));
  EXPECT_EQ(refusal(), "");
}

TEST_F(Database, RefusesAChangedAxiom) {
  prove_and_write();
  write("axioms/a.axioms", "axiom add_commutes\n  a : [k]\n  b : [k]\n  Add(a, b) => Add(b, a)\n");
  EXPECT_NE(refusal().find("swap (an axiom changed since it was proved)"), std::string::npos)
      << refusal();
}

TEST_F(Database, RefusesAVanishedAxiom) {
  prove_and_write();
  write("axioms/a.axioms", "axiom other\n  a : [n]\n  b : [n]\n  Mul(a, b) = Mul(b, a)\n");
  EXPECT_NE(refusal().find("its axiom 'add_commutes' is gone"), std::string::npos) << refusal();
}

TEST_F(Database, RefusesDamagedRecords) {
  prove_and_write();
  write("substitutions.proofs", "swap text=12 axioms=zz\n");
  EXPECT_NE(refusal().find("substitutions.proofs:1: "), std::string::npos) << refusal();
  fs::remove(folder_ / "substitutions.proofs");
  EXPECT_NE(refusal().find("cannot read"), std::string::npos) << refusal();
}

TEST_F(Database, RecordsOnlyWhatIsProved) {
  write("substitutions/b.rules", std::string(wrong) + "\n" + beyond);
  const auto verification = verify_database(folder_);
  ASSERT_TRUE(verification) << verification.error().message;
  EXPECT_EQ(verification->proved(), 1U);
  EXPECT_EQ(verification->refuted(), 1U);
  EXPECT_EQ(verification->unknown(), 1U);
  EXPECT_FALSE(verification->complete());
  const std::string records = proof_file_text(*verification);
  EXPECT_NE(records.find("\nswap "), std::string::npos) << records;
  EXPECT_EQ(records.find("wrong"), std::string::npos) << records;
  EXPECT_EQ(records.find("beyond"), std::string::npos) << records;
}

TEST_F(Database, DoesNotUseAFalseAxiom) {
  write("axioms/b.axioms", "axiom false_one\n  a : [n]\n  b : [n]\n  Sub(a, b) = Sub(b, a)\n");
  write("substitutions/b.rules", wrong);
  const auto verification = verify_database(folder_);
  ASSERT_TRUE(verification) << verification.error().message;
  ASSERT_EQ(verification->refused_axioms.size(), 1U);
  EXPECT_EQ(verification->refused_axioms[0].first, "false_one");
  EXPECT_FALSE(is_proved(verification->rules[1].verdict));
}

/// True, and not refuted by exact evaluation; but of GlobalMaxPool no typing conditions are known.
constexpr const char* no_index_proof =
    " pooled\n  x : [n, c, h]\n  Relu(GlobalMaxPool(x)) => GlobalMaxPool(Relu(x))\n";

TEST_F(Database, DoesNotUseAnAxiomWithoutIndexProof) {
  write("axioms/b.axioms", std::string("axiom") + no_index_proof);
  write("substitutions/b.rules", std::string("rule") + no_index_proof);
  const auto verification = verify_database(folder_);
  ASSERT_TRUE(verification) << verification.error().message;
  ASSERT_EQ(verification->refused_axioms.size(), 1U);
  EXPECT_EQ(verification->refused_axioms[0].first, "pooled");
  EXPECT_TRUE(verification->refused_axioms[0].second.starts_with("no index proof: "))
      << verification->refused_axioms[0].second;
  EXPECT_EQ(verification->unknown(), 1U);
}

TEST_F(Database, BelievesRecordsOfAxiomsUntilAskedToProveThemAnew) {
  prove_and_write();
  EXPECT_TRUE(verify_database(folder_)->index_proofs[0].recorded);
  VerifyOptions anew;
  anew.reprove_axioms = true;
  EXPECT_FALSE(verify_database(folder_, anew)->index_proofs[0].recorded);
  write("axioms/a.axioms", "axiom add_commutes\n  a : [m]\n  b : [m]\n  Add(a, b) = Add(b, a)\n");
  EXPECT_FALSE(verify_database(folder_)->index_proofs[0].recorded);
  write("axioms.proofs", "add_commutes\n");
  EXPECT_FALSE(verify_database(folder_));
}

TEST_F(Database, GivesTheSameRecordsForAnyNumberOfThreads) {
  write("substitutions/b.rules", std::string(wrong) + "\n" + beyond);
  VerifyOptions one, four;
  one.threads = 1;
  four.threads = 4;
  EXPECT_EQ(proof_file_text(*verify_database(folder_, one)),
            proof_file_text(*verify_database(folder_, four)));
}

TEST(ProofRecord, IsReadBackAsWritten) {
  ProofRecord record;
  record.rule = "some_rule";
  record.rule_digest = 0xfedcba9876543210U;
  record.axioms_digest = 7;
  record.cases = 12;
  record.groups = {"A:0..3", "B:1..1"};
  record.certificate = certificate_digest("text");
  const auto read = parse_proof_record(text(record));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, record);
}

}  // namespace
}  // namespace lemma::verifier
