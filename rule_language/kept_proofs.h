#pragma once
// Proofs on record that need not be found again (rule_language/rule_database.h says where records are).

#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"
#include "rule_language/proof_records.h"

namespace lemma {

/// What is recorded of a rule, where all of it fits.
struct KeptProof {
  ProofRecord record;
  std::string certificate;  // its text; empty: there is none
  std::string reason;       // of a rule with one proof: why the other is missing
};
/// The records of rules in substitutions/ that load_rules() would accept, and, where every axiom has a fitting record, those
/// of rules in one_proof/ (another axiom may give these their other proof), by name.
Result<std::map<std::string, KeptProof, std::less<>>> read_kept_proofs(
    const std::filesystem::path& directory);

}  // namespace lemma
