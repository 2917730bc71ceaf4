#pragma once
// The rules that may be used. A RuleDatabase is made by loading, or by the prover
// (verifier/prove_rules.h), and the search takes nothing else. Loaded are the rules of
// rules/substitutions/*.rules for which rules/substitutions.proofs has a record of two proofs that fits. Loading
// compares all that a record covers (rule_language/proof_records.h), and the certificates with their digests.
//
//   rules/axioms/*.axioms            what proofs start from
//   rules/axioms.rounding            what axioms change for floating-point numbers: rule_language/rounding.h
//   rules/axioms.proofs              one line an axiom
//   rules/substitutions/*.rules      the rules
//   rules/substitutions.proofs       one line a rule, written by `lemma rules verify --write`
//   rules/substitutions/*.certificates  beside each file of rules, those of its rules
//   rules/one_proof/                 rules with one of the two proofs, their certificates, and `reasons`
//   rules/one_proof.proofs           one line for each of these

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rule_language/certificate_pack.h"
#include "rule_language/proof_records.h"
#include "rule_language/rounding.h"
#include "rule_language/substitution.h"

namespace lemma {

/// The files of a folder with the given extension (".rules"), sorted.
Result<std::vector<std::filesystem::path>> files_with_extension(const std::filesystem::path& folder,
                                                                std::string_view extension);
/// All substitutions in the files of a folder with the given extension, file after file
/// in the order of their names. Names must be unique.
Result<std::vector<Substitution>> read_substitutions(const std::filesystem::path& folder,
                                                     std::string_view extension);
/// All bytes. An error names the file.
Result<std::string> read_text_file(const std::filesystem::path& file);
/// What each rule of the folder has in its packs *.certificates, by name. What stands there twice has both texts,
/// and is the certificate of nothing.
using CertificateTable = std::map<std::string, CertificateSection, std::less<>>;
/// An error: a file cannot be read.
Result<CertificateTable> read_certificates(const std::filesystem::path& folder);

class RuleDatabase;
/// `directory` is the folder rules/. The error lists axioms and rules without a fitting record, and the
/// command that proves them anew.
Result<RuleDatabase> load_rules(const std::filesystem::path& directory);
namespace verifier {
/// verifier/prove_rules.h.
Result<RuleDatabase> prove_rules(std::vector<Substitution> rules,
                                 const std::filesystem::path& axioms, int threads);
}  // namespace verifier

/// Rules with their proofs, and rules that are expressly taken without one. Nothing else makes rules with a proof
/// but load_rules() and the prover.
class RuleDatabase {
 public:
  RuleDatabase() = default;  // no rules
  /// Rules that are premises of whatever is made with them: results name those that they use (SearchFigures), and no
  /// checker accepts their explanations. `rounding` is what the caller claims of each.
  static RuleDatabase without_proof(std::vector<Substitution> rules,
                                    RoundingClass rounding = RoundingClass::rounding);

  std::span<const Substitution> substitutions() const { return rules_; }  // in the order of loading
  std::span<const RoundingClass> rounding() const { return rounding_; }   // of each of these
  /// The names of rules without proof.
  const RuleNames& unproved() const { return unproved_; }
  /// The names of rules that keep every bit.
  RuleNames bitwise() const;
  /// The rules that are no worse than `worst`.
  RuleDatabase up_to(RoundingClass worst) const;
  /// The rules for which `is_wanted` holds.
  RuleDatabase selected(const std::function<bool(const Substitution&)>& is_wanted) const;
  /// The same rules, each with its roles (rule_language/rule_roles.h), which are no part of its claim.
  RuleDatabase with_suggested_roles() const;
  /// The rules of both. A rule that is in both counts once, and is proved if it is in one of them; two rules of one
  /// name are an error, which names `place`, where the others are from.
  Result<void> add(const RuleDatabase& others, const std::string& place);

 private:
  /// A class for each rule.
  RuleDatabase(std::vector<Substitution> rules, std::vector<RoundingClass> rounding)
      : rules_(std::move(rules)), rounding_(std::move(rounding)) {}
  friend Result<RuleDatabase> load_rules(const std::filesystem::path& directory);
  friend Result<RuleDatabase> verifier::prove_rules(std::vector<Substitution> rules,
                                                    const std::filesystem::path& axioms,
                                                    int threads);

  std::vector<Substitution> rules_;
  std::vector<RoundingClass> rounding_;
  RuleNames unproved_;
};

/// The rules of several folders. A rule that stands in more than one counts once; two rules of one name are an error.
Result<RuleDatabase> load_rules(std::span<const std::filesystem::path> directories);

/// A rule with one of the two proofs.
struct OneProofRule {
  Substitution rule;   // as its file has it
  ProofRecord record;  // fits the rule
  std::string reason;  // why the other proof is missing
};
/// The rules with one proof of the folder, compared with their records in the same way. None if there
/// is no such folder.
Result<std::vector<OneProofRule>> load_one_proof_rules(const std::filesystem::path& directory);

/// The records in rules/axioms.proofs. Nothing is recorded if there is no such file.
Result<std::vector<AxiomRecord>> read_axiom_records(const std::filesystem::path& file);
/// The records in rules/substitutions.proofs or the like; nothing if there is no such file.
Result<std::vector<ProofRecord>> read_proof_records(const std::filesystem::path& file);

/// "NAME: REASON", a line a rule: rules/one_proof/reasons.
using Reasons = std::map<std::string, std::string, std::less<>>;
std::string reasons_text(const Reasons& reasons);  // the contents of such a file, by name
Result<Reasons> read_reasons(const std::filesystem::path& file);  // errors name file and line

}  // namespace lemma
