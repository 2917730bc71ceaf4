// A folder of rules on disk: what is proved is recorded and loaded.

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "tests/verifier/database_folder.h"

namespace lemma::verifier {
namespace {

using Database = DatabaseFolder;

TEST_F(Database, LoadsWhatIsProvedTwice) {
  prove_and_write();
  const auto database = load_rules(folder_);
  ASSERT_TRUE(database) << database.error().message;
  ASSERT_EQ(database->substitutions().size(), 2U);
  EXPECT_EQ(database->substitutions()[0].name, "swap");
  EXPECT_EQ(database->rounding()[0], RoundingClass::bitwise);
  EXPECT_FALSE(fs::exists(folder_ / "one_proof"));
}

TEST_F(Database, AcceptsAChangeOfLayoutOnly) {
  prove_and_write();
  write("substitutions/a.rules", "# a comment\n\n" + std::string(product) + "\n" + swap);
  EXPECT_EQ(refusal(), "");
}

TEST_F(Database, NamesACertificateThatIsNotTheOneOnRecord) {
  prove_and_write();
  EXPECT_TRUE(certificate_misfits(folder_)->empty());
  replace("substitutions/a.certificates", "witness", "wit ness");
  const auto altered = certificate_misfits(folder_);
  ASSERT_EQ(altered->size(), 1U);
  EXPECT_EQ(altered->at(0).first, "swap");
  EXPECT_EQ(altered->at(0).second, "the certificate is not the one that was recorded");
  fs::remove(folder_ / "substitutions" / "a.certificates");
  ASSERT_EQ(certificate_misfits(folder_)->size(), 2U);
  EXPECT_EQ(certificate_misfits(folder_)->at(0).second, "there is no certificate");
  prove_and_write();
  EXPECT_TRUE(certificate_misfits(folder_)->empty());
}

TEST_F(Database, RecordsOnlyWhatIsProved) {
  write("substitutions/b.rules", std::string(wrong) + "\n" + beyond);
  const auto verification = verify_database(folder_);
  ASSERT_TRUE(verification) << verification.error().message;
  EXPECT_EQ(verification->proved(), 2U);
  EXPECT_EQ(verification->refuted(), 1U);
  EXPECT_EQ(verification->unknown(), 1U);
  EXPECT_FALSE(verification->complete());
  ASSERT_TRUE(write_proofs(folder_, *verification));
  const std::string records = read(rules);
  EXPECT_NE(records.find("\nswap "), std::string::npos) << records;
  EXPECT_EQ(records.find("wrong"), std::string::npos) << records;
  EXPECT_EQ(records.find("beyond"), std::string::npos) << records;
  EXPECT_NE(refusal().find("rules wrong (no record), beyond (no record)"), std::string::npos);
}

TEST_F(Database, DoesNotUseAFalseAxiom) {
  write("axioms/b.axioms", "axiom false_one\n  a : [n]\n  b : [n]\n  Sub(a, b) = Sub(b, a)\n");
  write("substitutions/b.rules", wrong);
  const auto verification = verify_database(folder_);
  ASSERT_TRUE(verification) << verification.error().message;
  ASSERT_EQ(verification->refused_axioms.size(), 1U);
  EXPECT_EQ(verification->refused_axioms[0].first, "false_one");
  EXPECT_FALSE(is_proved(verification->rules[2].verdict()));
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
  EXPECT_TRUE(verify_database(folder_, anew));
}

TEST_F(Database, KeepsRecordsThatFitAndProvesOnlyTheOthers) {
  write("substitutions/b.rules", by_index);
  prove_and_write();
  const std::string records = read(rules), apart = read("one_proof.proofs");
  VerifyOptions keep;
  keep.keep_records = true;
  const auto same = verify_database(folder_, keep);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->recorded(), 3U);
  ASSERT_TRUE(write_proofs(folder_, *same));
  EXPECT_EQ(read(rules), records);
  EXPECT_EQ(read("one_proof.proofs"), apart);
  EXPECT_TRUE(certificate_misfits(folder_)->empty());

  write("substitutions/c.rules", wrong);
  replace("substitutions/a.rules", "rule swap\n  x : [m]\n  y : [m]",
          "rule swap\n  x : [k]\n  y : [k]");
  const auto changed = verify_database(folder_, keep);
  EXPECT_EQ(changed->recorded(), 2U);
  EXPECT_EQ(changed->proved(), 3U);
  EXPECT_EQ(changed->refuted(), 1U);
}

TEST_F(Database, ProvesARuleAgainWhoseRecordDoesNotFit) {
  prove_and_write();
  VerifyOptions keep, anew;
  keep.keep_records = anew.keep_records = true;
  anew.reprove_axioms = true;
  EXPECT_EQ(verify_database(folder_, anew)->recorded(), 0U);
  const std::string whole = read(rules);
  set_field(rules, "swap", "cases", "17");
  EXPECT_EQ(verify_database(folder_, keep)->recorded(), 1U);
  write(rules, whole);
  replace("substitutions/a.certificates", "witness", "wit ness");
  EXPECT_EQ(verify_database(folder_, keep)->recorded(), 1U);
  prove_and_write();
  write("axioms.rounding", "add_commutes bitwise\n");
  EXPECT_EQ(verify_database(folder_, keep)->recorded(), 1U);
  write("axioms/a.axioms", "axiom add_commutes\n  a : [n]\n  b : [n]\n  Add(a, b) = Add(b, a)\n");
  const auto without = verify_database(folder_, keep);
  EXPECT_EQ(without->recorded(), 1U);
  EXPECT_EQ(without->proved(), 2U) << "the other rule has its index proof";
  EXPECT_EQ(without->proved_twice(), 1U);
}

TEST_F(Database, ProvesRulesWithOneProofAgainWhereAnAxiomIsNew) {
  write("substitutions/b.rules", by_index);
  prove_and_write();
  write("axioms/b.axioms", "axiom neg_twice\n  a : [n]\n  Neg(Neg(a)) = a\n");
  VerifyOptions keep;
  keep.keep_records = true;
  const auto verification = verify_database(folder_, keep);
  EXPECT_EQ(verification->recorded(), 2U);
  EXPECT_EQ(verification->proved_twice(), 3U);
}

TEST_F(Database, NamesAxiomsWithoutAClassAndTheRulesThatSuffer) {
  write("axioms.rounding", "add_commutes bitwise\n");
  const auto verification = verify_database(folder_);
  const auto missing = verification->axioms_without_class();
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].first, "mul_commutes");
  EXPECT_EQ(missing[0].second, std::vector<std::string>{"product"});
  EXPECT_EQ(verification->class_of(verification->rules[0]), RoundingClass::bitwise);
  EXPECT_EQ(verification->class_of(verification->rules[1]), RoundingClass::rounding);
}

TEST_F(Database, GivesTheSameRecordsForAnyNumberOfThreads) {
  write("substitutions/b.rules", std::string(wrong) + "\n" + by_index);
  VerifyOptions one, four;
  one.threads = 1;
  four.threads = 4;
  const auto first = verify_database(folder_, one), second = verify_database(folder_, four);
  ASSERT_EQ(first->rules.size(), second->rules.size());
  for (std::size_t i = 0; i < first->rules.size(); ++i)
    EXPECT_EQ(first->rules[i].record, second->rules[i].record);
}

TEST(ProofRecord, IsReadBackAsWritten) {
  ProofRecord record;
  record.rule = "some_rule";
  record.digest = sha256("all");
  record.text = sha256("text");
  record.cases = 12;
  record.groups = {"A:0..3", "B:1..1"};
  record.certificate = certificate_digest("text");
  for (const std::string& index : {std::string(), sha256("index")}) {
    record.index = index;
    const auto read = parse_proof_record(text(record));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, record);
  }
}

}  // namespace
}  // namespace lemma::verifier
