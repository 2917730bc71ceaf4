#pragma once
// Verifying the rules of a folder and recording their proofs: `lemma rules verify [--write]`.

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ir/result.h"
#include "ir/rule_database.h"
#include "ir/substitution.h"
#include "verifier/index/axiom_proofs.h"
#include "verifier/prover/prove.h"
#include "verifier/verdict.h"

namespace lemma::verifier {

struct VerifyOptions {
  int threads = 0;  // 0: as many as there are processors
  /// Of all rules only those whose position modulo `shards` is `shard`.
  std::size_t shard = 0, shards = 1;
  /// Prove all axioms anew from the operators' definitions, also those with a fitting record.
  bool reprove_axioms = false;
};

struct VerifiedRule {
  std::string name;
  Verdict verdict;
  double seconds = 0;
  ProofRecord record;  // filled in if the rule is proved
  Substitution rule;   // what the verdict is about: as given, or with conditions that were found
  std::vector<std::string> added;  // those conditions
  Verdict unconditional;           // if there are such, of the rule as given
};

struct DatabaseVerification {
  std::size_t axioms = 0;  // with an index proof, and that passed exact evaluation
  /// Axioms without one of the two, with the reason. They were not used.
  std::vector<std::pair<std::string, std::string>> refused_axioms;
  std::vector<VerifiedAxiom> index_proofs;  // of all axioms, in the order of the files
  double index_seconds = 0;                 // elapsed
  std::vector<VerifiedRule> rules;          // in the order of the files

  std::size_t proved() const;
  std::size_t refuted() const;
  std::size_t unknown() const { return rules.size() - proved() - refuted(); }
  bool complete() const { return proved() == rules.size() && refused_axioms.empty(); }
};

/// `directory` is the folder rules/. The result does not depend on the number of threads, but for
/// the seconds. An error means that the files cannot be read.
Result<DatabaseVerification> verify_database(const std::filesystem::path& directory,
                                             const VerifyOptions& options = {});

/// The same for other rules than those of the folder, but proved under conditions where they do not
/// hold without (verifier/conditions/infer.h).
Result<DatabaseVerification> verify_candidates(const std::filesystem::path& directory,
                                               const std::vector<Substitution>& candidates,
                                               const VerifyOptions& options = {});
/// Makes the folder: a file NAME.certificate for each rule that is proved, and all these rules with
/// their conditions in proved.rules.
Result<void> write_certificates(const std::filesystem::path& folder,
                                const DatabaseVerification& verification);

/// The axioms of the folder that may be used: with an index proof, and not refuted. `refused` lists
/// the others.
struct LoadedAxioms {
  AxiomSet set;
  std::vector<std::pair<std::string, std::string>> refused;
};
/// objection_to() for each.
using Objections =
    std::function<Result<std::vector<std::string>>(const std::vector<Substitution>& axioms)>;
/// Without `objections` they are found here, on several threads.
Result<LoadedAxioms> load_axioms(const std::filesystem::path& directory, int threads = 0,
                                 const Objections& objections = {});
/// What is kept of a proof of `rule`.
ProofRecord proof_record(const Substitution& rule, const Proved& proved, const AxiomSet& axioms);

/// Makes the folder: a file NAME.counterexample for each rule that is refuted, or that holds only
/// under a condition that was found.
Result<void> write_counterexamples(const std::filesystem::path& folder,
                                   const DatabaseVerification& verification);

/// Rules of the folder rules/ whose certificate is not the one on record, with the reason.
Result<std::vector<std::pair<std::string, std::string>>> certificate_misfits(
    const std::filesystem::path& directory);

/// The contents of substitutions.proofs: a record for each proved rule.
std::string proof_file_text(const DatabaseVerification& verification);
/// Replaces rules/axioms.proofs, the files rules/certificates/*.certificate and
/// rules/substitutions.proofs, each in one step; the records of the rules come last.
Result<void> write_proofs(const std::filesystem::path& directory,
                          const DatabaseVerification& verification);

}  // namespace lemma::verifier
