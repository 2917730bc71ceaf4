// A folder of rules on disk: what is not proved, or no longer what was proved, is not loaded.

#include <gtest/gtest.h>

#include <functional>

#include "base/sha256.h"
#include "tests/verifier/database_folder.h"

namespace lemma::verifier {
namespace {

using Alterations = DatabaseFolder;

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

class Altered : public DatabaseFolder, public testing::WithParamInterface<Alteration> {};

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
TEST_F(Alterations, RefusesDigestsOfSomethingElse) {
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
TEST_F(Alterations, RefusesARuleWhoseAxiomWasProvedAnewInOtherCases) {
  prove_and_write();
  const auto all = *read_substitutions(folder_ / "axioms", ".axioms");
  const std::vector<AxiomRecord> other = {axiom_record(all[0], 77), axiom_record(all[1], 1)};
  write(axioms, axiom_file_text(other));
  EXPECT_EQ(refusal().find("axioms "), std::string::npos) << refusal();
  EXPECT_NE(refusal().find(altered_rule), std::string::npos) << refusal();
}

TEST_F(Alterations, NamesTwentyAndCountsTheOthers) {
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

}  // namespace
}  // namespace lemma::verifier
