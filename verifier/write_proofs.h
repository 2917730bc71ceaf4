#pragma once
// What `lemma rules verify` writes: records and certificates, and the rules themselves sorted into
// those with two proofs, in rules/substitutions/, and those with one, in rules/one_proof/.

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "rule_language/rule_database.h"
#include "verifier/verify_database.h"

namespace lemma::verifier {

/// What is kept of one rule.
struct RuleProofs {
  ProofRecord record;
  std::string certificate;  // empty: there is none
  std::string reason;       // of a rule with one proof: why the other is missing
};
/// The proofs of rules by name.
using RuleProofTable = std::map<std::string, RuleProofs>;

/// Brings the folder rules/ into the order that the proofs give it; all files change together
/// (outputs/folder_update.h). Rules move between substitutions/ and one_proof/, in files of the same names; rules without any
/// proof stay where they are, without a record. The certificates stand in packs beside the files of rules.
Result<void> write_proofs(const std::filesystem::path& directory, const RuleProofTable& rules,
                          const std::vector<AxiomRecord>& axioms);
/// The same in a copy of the folder, which the caller publishes.
Result<void> write_proofs_into(const std::filesystem::path& directory, const RuleProofTable& rules,
                               const std::vector<AxiomRecord>& axioms);
/// All that was proved of the folder.
Result<void> write_proofs(const std::filesystem::path& directory,
                          const DatabaseVerification& verification);

/// Rules of the folder rules/ whose certificate is not the one on record, with the reason.
Result<std::vector<std::pair<std::string, std::string>>> certificate_misfits(
    const std::filesystem::path& directory);

/// Makes the folder: all rules that are proved, with their conditions, in proved.rules, and the certificates of
/// those that have one in proved.certificates.
Result<void> write_certificates(const std::filesystem::path& folder,
                                const DatabaseVerification& verification);

/// Makes the folder: a file NAME.counterexample for each rule that is refuted, or that holds only
/// under a condition that was found.
Result<void> write_counterexamples(const std::filesystem::path& folder,
                                   const DatabaseVerification& verification);

}  // namespace lemma::verifier
