// A folder of rules on disk: what is not proved, or no longer what was proved, is not loaded.

#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "base/sha256.h"
#include "verifier/rule_files.h"
#include "verifier/write_proofs.h"

namespace lemma::verifier {
namespace {

namespace fs = std::filesystem;

constexpr const char* commutes =
    "axiom add_commutes\n  a : [n]\n  b : [n]\n  Add(a, b) = Add(b, a)\n\n"
    "axiom mul_commutes\n  a : [n]\n  b : [n]\n  Mul(a, b) = Mul(b, a)\n";
constexpr const char* swap = "rule swap\n  x : [m]\n  y : [m]\n  Add(x, y) => Add(y, x)\n";
constexpr const char* product = "rule product\n  x : [m]\n  y : [m]\n  Mul(x, y) => Mul(y, x)\n";
constexpr const char* wrong = "rule wrong\n  x : [m]\n  y : [m]\n  Sub(x, y) => Sub(y, x)\n";
/// No axiom is about Neg: it has an index proof only.
constexpr const char* by_index = "rule twice\n  x : [m]\n  Neg(Neg(x)) => x\n";
/// The tests take its index proof away, so that it has a certificate only.
constexpr const char* by_axioms =
    "rule lone\n  x : [m]\n  y : [m]\n  Relu(Add(x, y)) => Relu(Add(y, x))\n";
/// Neither.
constexpr const char* beyond =
    "rule beyond\n  x : [n, c, h]\n  Relu(GlobalMaxPool(x)) => GlobalMaxPool(Relu(x))\n";

class Database : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '_');
    folder_ = fs::temp_directory_path() / ("lemma_database_test_" + name);
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "axioms");
    fs::create_directories(folder_ / "substitutions");
    write("axioms/a.axioms", commutes);
    write("axioms.rounding", "add_commutes bitwise\nmul_commutes bitwise\n");
    write("substitutions/a.rules", std::string(swap) + "\n" + product);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& file, const std::string& contents) {
    std::ofstream(folder_ / file) << contents;
  }
  std::string read(const std::string& file) {
    const auto contents = read_text_file(folder_ / file);
    EXPECT_TRUE(contents) << file;
    return contents.value_or("");
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) {
    std::string contents = read(file);
    const std::size_t at = contents.find(from);
    ASSERT_NE(at, std::string::npos) << file << ": " << from;
    contents.replace(at, from.size(), to);
    write(file, contents);
  }
  /// The value of a field of a record.
  std::string field(const std::string& file, const std::string& name, const std::string& key) {
    const std::string contents = read(file);
    const std::size_t line = contents.find("\n" + name + " ");
    const std::size_t begin = contents.find(" " + key + "=", line) + key.size() + 2;
    return contents.substr(begin, contents.find_first_of(" \n", begin) - begin);
  }
  void set_field(const std::string& file, const std::string& name, const std::string& key,
                 const std::string& value) {
    const std::string contents = read(file);
    const std::size_t line = contents.find("\n" + name + " ");
    ASSERT_NE(line, std::string::npos);
    const std::size_t begin = contents.find(" " + key + "=", line) + key.size() + 2;
    write(file, contents.substr(0, begin) + value +
                    contents.substr(contents.find_first_of(" \n", begin)));
  }
  void prove_and_write() {
    const auto verification = verify_database(folder_);
    ASSERT_TRUE(verification) << verification.error().message;
    const auto written = write_proofs(folder_, *verification);
    ASSERT_TRUE(written) << written.error().message;
  }
  std::string refusal() {
    const auto database = load_rules(folder_);
    return database ? "" : database.error().message;
  }

  fs::path folder_;
};

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

// ---- Alterations ------------------------------------------------------------------------------

constexpr const char* rules = "substitutions.proofs";
constexpr const char* axioms = "axioms.proofs";
constexpr const char* altered_rule =
    "swap (what it rests on changed since it was proved, or its record was altered)";
constexpr const char* altered_axiom =
    "axioms add_commutes (what it means changed since it was proved, or its record was altered)";

constexpr const char* pack = "substitutions/a.certificates";
/// A pack of these certificates of the pack, by their positions.
void write_pack(const fs::path& folder, const std::vector<std::size_t>& chosen) {
  const auto sections = certificates_of(*read_text_file(folder / pack));
  std::ofstream stream(folder / pack);
  for (const std::size_t i : chosen) stream << sections.at(i).text;
}

struct Alteration {
  const char* name;
  std::function<void(const fs::path& folder)> alter;  // by hand, or:
  const char* file = "";
  const char* from = "";
  const char* to = "";
  std::vector<std::string> said = {};
};
void PrintTo(const Alteration& one, std::ostream* stream) { *stream << one.name; }

std::string other_digest() { return sha256("something else"); }

class Altered : public Database, public testing::WithParamInterface<Alteration> {};

TEST_P(Altered, IsRefused) {
  prove_and_write();
  ASSERT_EQ(refusal(), "");
  const Alteration& one = GetParam();
  if (one.alter)
    one.alter(folder_);
  else
    replace(one.file, one.from, one.to);
  const std::string said = refusal();
  for (const std::string& part : one.said) EXPECT_NE(said.find(part), std::string::npos) << said;
  EXPECT_NE(said.find("run lemma rules verify --rules " + folder_.string() + " --write"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find('\n'), std::string::npos);
  VerifyOptions anew;
  anew.reprove_axioms = true;
  const auto verification = verify_database(folder_, anew);  // the command mends what is provable
  if (verification && verification->complete()) {
    ASSERT_TRUE(write_proofs(folder_, *verification));
    EXPECT_EQ(refusal(), "");
  }
}

const std::vector<Alteration> alterations = {
    // Rules
    {"rule_changed",
     {},
     "substitutions/a.rules",
     "Add(y, x)",
     "Add(x, y)",
     {"rules swap (changed since it was proved)"}},
    {"rule_made_an_equation",
     {},
     "substitutions/a.rules",
     "=> Add",
     "= Add",
     {"swap (changed since it was proved)"}},
    {"rule_for_less",
     {},
     "substitutions/a.rules",
     "x : [m]",
     "x : [1]",
     {"swap (changed since it was proved)"}},
    {"rule_asks_for_more",
     {},
     "substitutions/a.rules",
     "x : [m]",
     "defined x : [m]",
     {"swap (changed since it was proved)"}},
    {"rule_renamed",
     {},
     "substitutions/a.rules",
     "rule swap",
     "rule exchange",
     {"rules exchange (no record)"}},
    {"rule_added",
     {},
     "substitutions/a.rules",
     "rule product",
     "rule wrong\n  x : [m]\n  y : [m]\n  Sub(x, y) => Sub(y, x)\n\nrule product",
     {"rules wrong (no record)"}},
    {"rule_made_an_axiom",
     {},
     "substitutions/a.rules",
     "rule swap",
     "axiom swap",
     {"swap (an axiom among the rules)"}},
    // Axioms
    {"axiom_changed",
     {},
     "axioms/a.axioms",
     "= Add(b, a)",
     "=> Add(b, a)",
     {"axioms add_commutes (changed since it was proved)",
      "rules swap (its axiom 'add_commutes': changed since it was proved)"}},
    {"axiom_for_more",
     {},
     "axioms/a.axioms",
     "a : [n]",
     "a : [k]",
     {"axioms add_commutes (changed since it was proved)"}},
    {"axiom_gone",
     {},
     "axioms/a.axioms",
     "axiom add_commutes",
     "axiom other",
     {"axioms other (no record of an index proof)", "swap (its axiom 'add_commutes' is gone)"}},
    {"axiom_made_a_rule",
     {},
     "axioms/a.axioms",
     "axiom add_commutes",
     "rule add_commutes",
     {"add_commutes (a rule among the axioms)"}},
    {"axiom_added",
     [](const fs::path& folder) {
       std::ofstream(folder / "axioms" / "b.axioms")
           << "axiom new_one\n  a : [n]\n  Neg(Neg(a)) = a\n";
     },
     "",
     "",
     "",
     {"axioms new_one (no record of an index proof)"}},
    // Certificates: that of swap is the first of the pack
    {"certificate_byte",
     {},
     pack,
     "witness m=",
     "witness m =",
     {"rules swap (its certificate is not the one that was recorded)"}},
    {"certificate_longer",
     {},
     pack,
     "\nend\n",
     "\n\nend\n",
     {"rules swap (its certificate is not the one that was recorded)"}},
    {"certificate_shorter",
     {},
     pack,
     "\nend\n",
     "\n",
     {"rules swap (its certificate is not the one that was recorded)"}},
    {"certificate_without_beginning",
     {},
     pack,
     "lemma certificate 3\n",
     "",
     {"rules swap (its certificate is not the one that was recorded)"}},
    {"certificate_twice",
     [](const fs::path& folder) {
       write_pack(folder, {0, 1, 0});
     },
     "",
     "",
     "",
     {"rules swap (its certificate is not the one that was recorded)"}},
    {"certificate_missing",
     [](const fs::path& folder) { write_pack(folder, {0}); },
     "",
     "",
     "",
     {"rules product (its certificate is missing)"}},
    {"certificates_missing",
     [](const fs::path& folder) { fs::remove(folder / pack); },
     "",
     "",
     "",
     {"swap (its certificate is missing), product (its certificate is missing)"}},
    {"certificate_of_another_name",
     {},
     pack,
     "rule swap",
     "rule product",
     {"swap (its certificate is missing)", "product (its certificate is not"}},
    // Records of rules
    {"cases_of_a_rule", {}, rules, "cases=1", "cases=2", {altered_rule}},
    {"groups_of_a_rule", {}, rules, "groups=-", "groups=A:0..3", {altered_rule}},
    {"axioms_of_a_rule", {}, rules, "uses=add_commutes", "uses=mul_commutes", {altered_rule}},
    {"no_axioms_of_a_rule", {}, rules, "uses=add_commutes", "uses=-", {altered_rule}},
    {"version_of_a_rule",
     [](const fs::path& folder) {
       std::string text = *read_text_file(folder / rules);
       const std::size_t at = text.find("version=");
       text.replace(at, text.find('\n', at) - at, "version=1");
       std::ofstream(folder / rules) << text;
     },
     "",
     "",
     "",
     {"swap (proved by another version of the verifier)"}},
    {"name_of_a_record", {}, rules, "\nswap ", "\nswapped ", {"swap (no record)"}},
    {"records_swapped",
     [](const fs::path& folder) {
       std::string text = *read_text_file(folder / rules);
       text.replace(text.find("\nswap "), 6, "\nthird ");
       text.replace(text.find("\nproduct "), 9, "\nswap ");
       text.replace(text.find("\nthird "), 7, "\nproduct ");
       std::ofstream(folder / rules) << text;
     },
     "",
     "",
     "",
     {"swap (changed since it was proved), product (changed since"}},
    {"records_missing",
     [](const fs::path& folder) { fs::remove(folder / rules); },
     "",
     "",
     "",
     {"rules swap (no record), product (no record)"}},
    {"field_missing",
     {},
     rules,
     " groups=-",
     "",
     {"substitutions.proofs:3: the field 'groups' is missing"}},
    {"field_unknown",
     {},
     rules,
     " groups=-",
     " groups=- more=1",
     {"substitutions.proofs:3: there is no field 'more'"}},
    {"field_twice",
     {},
     rules,
     " groups=-",
     " groups=- groups=-",
     {"substitutions.proofs:3: the field 'groups' is there twice"}},
    {"record_twice",
     [](const fs::path& folder) {
       const std::string text = *read_text_file(folder / rules);
       std::ofstream(folder / rules) << text << text.substr(text.find("\nswap ") + 1);
     },
     "",
     "",
     "",
     {"substitutions.proofs:5: a second record of 'swap'"}},
    {"short_digest", {}, rules, "sha256=", "sha256=0", {"is no SHA-256 digest"}},
    {"records_of_older_form",
     [](const fs::path& folder) {
       std::ofstream(folder / rules)
           << "swap text=a2e65ecc193c3b3f axioms=c741e1bd9528b502 cases=1 "
              "groups=- uses=add_commutes certificate=- version=3\n";
     },
     "",
     "",
     "",
     {"substitutions.proofs:1: there is no field 'axioms'"}},
    // Records of axioms
    {"cases_of_an_axiom",
     {},
     axioms,
     "cases=",
     "cases=1",
     {altered_axiom, "swap (its axiom 'add_commutes': what it means changed"}},
    {"version_of_an_axiom",
     [](const fs::path& folder) {
       std::string text = *read_text_file(folder / axioms);
       const std::size_t at = text.find("version=");
       text.replace(at, text.find('\n', at) - at, "version=1");
       std::ofstream(folder / axioms) << text;
     },
     "",
     "",
     "",
     {"axioms add_commutes (proved by another version of the verifier)"}},
    {"record_of_an_axiom_missing",
     {},
     axioms,
     "\nadd_commutes ",
     "\n#",
     {"axioms add_commutes (no record of an index proof)",
      "swap (its axiom 'add_commutes': no record of an index proof)"}},
    {"records_of_axioms_missing",
     [](const fs::path& folder) { fs::remove(folder / axioms); },
     "",
     "",
     "",
     {"axioms add_commutes (no record", "mul_commutes (no record"}},
    {"records_of_axioms_damaged",
     {},
     axioms,
     "text=",
     "text:",
     {"axioms.proofs:3: 'text:", "--write --axioms"}},
    // Classes
    {"class_better",
     {},
     "axioms.rounding",
     "add_commutes bitwise",
     "add_commutes reassociation",
     {"swap (axioms.rounding gives it another class than its certificate)"}},
};

INSTANTIATE_TEST_SUITE_P(One, Altered, testing::ValuesIn(alterations),
                         [](const auto& one) { return std::string(one.param.name); });

/// Digests that stand for something else: what was proved under another meaning of an operator has them.
TEST_F(Database, RefusesDigestsOfSomethingElse) {
  prove_and_write();
  const std::string record = read(rules), of_axioms = read(axioms);
  struct Case {
    const char *file, *name, *key, *said;
  };
  for (const Case& one :
       {Case{rules, "swap", "sha256", altered_rule},
        Case{rules, "swap", "text", "swap (changed since it was proved)"},
        Case{rules, "swap", "certificate", altered_rule},
        Case{rules, "swap", "index", "swap (its index proof is of another version"},
        Case{axioms, "add_commutes", "sha256", altered_axiom},
        Case{axioms, "add_commutes", "text", "add_commutes (changed since"}}) {
    set_field(one.file, one.name, one.key, other_digest());
    EXPECT_NE(refusal().find(one.said), std::string::npos) << one.key << ": " << refusal();
    write(rules, record);
    write(axioms, of_axioms);
  }
  EXPECT_EQ(refusal(), "");
}

/// The digest of a record covers the records of its axioms.
TEST_F(Database, RefusesARuleWhoseAxiomWasProvedAnewInOtherCases) {
  prove_and_write();
  const auto all = *read_substitutions(folder_ / "axioms", ".axioms");
  const std::vector<AxiomRecord> other = {axiom_record(all[0], 77), axiom_record(all[1], 1)};
  write(axioms, axiom_file_text(other));
  EXPECT_EQ(refusal().find("axioms "), std::string::npos) << refusal();
  EXPECT_NE(refusal().find(altered_rule), std::string::npos) << refusal();
}

TEST_F(Database, NamesTwentyAndCountsTheOthers) {
  std::string many;
  for (int i = 0; i < 25; ++i) {
    std::string one = swap;
    one.replace(5, 4, "swap_" + std::to_string(i));
    many += "\n" + one;
  }
  prove_and_write();
  write("substitutions/b.rules", many);
  EXPECT_NE(refusal().find("swap_19 (no record), and 5 more"), std::string::npos) << refusal();
}

// ---- Rules with one proof ---------------------------------------------------------------------

class OneProof : public Database {
 protected:
  void SetUp() override {
    Database::SetUp();
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

// ---- Verifying --------------------------------------------------------------------------------

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
