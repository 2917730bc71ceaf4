#pragma once
// Verifying the rules of a folder and recording their proofs: `lemma rules verify [--write]`.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "ir/result.h"
#include "ir/rule_database.h"
#include "ir/substitution.h"
#include "verifier/verdict.h"

namespace lemma::verifier {

struct VerifyOptions {
  int threads = 0;  // 0: as many as there are processors
  /// Of all rules only those whose position modulo `shards` is `shard`.
  std::size_t shard = 0, shards = 1;
};

struct VerifiedRule {
  std::string name;
  Verdict verdict;
  double seconds = 0;
  ProofRecord record;  // filled in if the rule is proved
};

struct DatabaseVerification {
  std::size_t axioms = 0;  // that passed exact evaluation
  /// Axioms that did not, with the reason. They were not used.
  std::vector<std::pair<std::string, std::string>> refused_axioms;
  std::vector<VerifiedRule> rules;  // in the order of the files

  std::size_t proved() const;
  std::size_t refuted() const;
  std::size_t unknown() const { return rules.size() - proved() - refuted(); }
  bool complete() const { return proved() == rules.size() && refused_axioms.empty(); }
};

/// `directory` is the folder rules/. The result does not depend on the number of threads, but for
/// the seconds. An error means that the files cannot be read.
Result<DatabaseVerification> verify_database(const std::filesystem::path& directory,
                                             const VerifyOptions& options = {});

/// The contents of substitutions.proofs: a record for each proved rule.
std::string proof_file_text(const DatabaseVerification& verification);
/// Replaces rules/substitutions.proofs and the files rules/certificates/*.certificate, each in one
/// step; the records come last.
Result<void> write_proofs(const std::filesystem::path& directory,
                          const DatabaseVerification& verification);

}  // namespace lemma::verifier
