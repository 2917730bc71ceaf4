#pragma once
// Verifying the rules of a folder and recording their proofs: `lemma rules verify [--write]`.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "rule_language/rounding.h"
#include "rule_language/rule_database.h"
#include "rule_language/substitution.h"
#include "verifier/index/axiom_proofs.h"
#include "verifier/prover/prove.h"
#include "verifier/verdict.h"

namespace lemma::verifier {

/// Which rules are verified, and what is proved again.
struct VerifyOptions {
  int threads = 0;  // 0: as many as there are processors
  /// Takes only those rules whose position modulo `shards` is `shard`.
  std::size_t shard = 0, shards = 1;  // the position counts from 0
  /// Prove all axioms anew from the operators' definitions, also those with a fitting record.
  bool reprove_axioms = false;
  /// Of verify_database(): rules whose records fit are not proved again.
  bool keep_records = false;
};

/// A rule has up to two proofs: a certificate, which starts from axioms, and an index proof, which starts
/// from the definitions of the operators. Rules that are used by default have both.
struct TwoProofs {
  Verdict verdict;             // proved: there is at least one of the two
  IndexProof index;            // not tried for what is refuted
  std::string no_certificate;  // why there is none; empty if there is one

  /// Whether the proof from axioms was found.
  bool has_certificate() const { return is_proved(verdict) && no_certificate.empty(); }
  /// As rules that are used by default have.
  bool has_both() const { return has_certificate() && index.proved; }
};
/// Both proofs of the rule as it is.
TwoProofs prove_twice(const Substitution& rule, const AxiomSet& axioms);
/// Adds the index proof to what was found from axioms.
TwoProofs with_index_proof(const Substitution& rule, Verdict verdict);
/// Why one of the two is missing, in one line; empty if there are both.
std::string reason_for_one(const TwoProofs& proofs);

/// What verifying one rule has shown.
struct VerifiedRule {
  std::string name;          // as given
  TwoProofs proofs;          // of `rule`
  double seconds = 0;        // by the clock, for all of it
  double index_seconds = 0;  // processor time for index proofs
  ProofRecord record;        // filled in if the rule is proved
  Substitution rule;  // what the verdict is about: as given, or with conditions that were found
  std::vector<std::string> added;  // those conditions
  Verdict unconditional;           // if there are such, of the rule as given
  bool is_apart = false;           // from rules/one_proof/
  bool is_recorded = false;        // the record was believed, nothing was proved

  const Verdict& verdict() const { return proofs.verdict; }  // of both proofs together
};

/// Both proofs of a rule, under conditions where it does not hold without (verifier/conditions/infer.h). What is
/// decided about a rule that is not in a database is decided here: by `lemma rules verify FILE` and by `lemma rules build`.
VerifiedRule verify_candidate(const Substitution& rule, const AxiomSet& axioms);

/// What verifying the rules of a folder, or others, has shown.
struct DatabaseVerification {
  std::size_t axioms = 0;  // with an index proof, and not refuted where they were evaluated
  /// Axioms without one of the two, with the reason. They were not used.
  std::vector<std::pair<std::string, std::string>> refused_axioms;
  std::vector<VerifiedAxiom> index_proofs;  // of all axioms, in the order of the files
  double index_seconds = 0;                 // elapsed
  std::vector<VerifiedRule> rules;          // in the order of the files
  bool of_folder = false;                   // the rules are those of rules/
  RoundingTable rounding;                   // rules/axioms.rounding

  std::vector<AxiomRecord> axiom_records() const;  // of those that are proved
  std::size_t proved() const;                      // rules with at least one proof
  std::size_t proved_twice() const;                // rules with both
  std::size_t recorded() const;                    // of those that are proved
  std::size_t refuted() const;                     // rules with a counterexample
  double rule_index_seconds() const;               // processor time
  /// The class of a rule's certificate: that of the worst axiom in it; nothing without a certificate.
  std::optional<RoundingClass> class_of(const VerifiedRule& rule) const;
  /// Axioms without a class in rules/axioms.rounding, which count as the worst, and for each the rules that are of the class
  /// `rounding` for no other reason.
  std::vector<std::pair<std::string, std::vector<std::string>>> axioms_without_class() const;
  std::size_t unknown() const { return rules.size() - proved() - refuted(); }  // neither of the two
  /// Rules of rules/substitutions/ need both proofs.
  bool complete() const;
};

/// `directory` is the folder rules/. The result does not depend on the number of threads, but for
/// the seconds. An error means that the files cannot be read.
Result<DatabaseVerification> verify_database(const std::filesystem::path& directory,
                                             const VerifyOptions& options = {});

/// The same for other rules than those of the folder, but proved under conditions where they do not
/// hold without (verifier/conditions/infer.h). Of the axioms those are evaluated that proofs use; with
/// `reprove_axioms` all are.
Result<DatabaseVerification> verify_candidates(const std::filesystem::path& directory,
                                               const std::vector<Substitution>& candidates,
                                               const VerifyOptions& options = {});
/// The axioms of the folder that may be used: with an index proof, and not refuted. `refused` lists
/// the others.
struct LoadedAxioms {
  AxiomSet set;                      // which proofs may start from
  std::vector<AxiomRecord> records;  // of all with an index proof, in the order of the files
  std::vector<std::pair<std::string, std::string>> refused;  // name and reason
};
/// objection_to() for each.
using Objections =
    std::function<Result<std::vector<std::string>>(const std::vector<Substitution>& axioms)>;
/// Loads axioms. Without `objections` they are found here, on several threads.
Result<LoadedAxioms> load_axioms(const std::filesystem::path& directory, int threads = 0,
                                 const Objections& objections = {});
/// What is kept of the proofs of `rule`; without its digest, which depends on the records of the axioms.
/// A certificate is left out if it is empty, an index proof if it is not proved.
ProofRecord proof_record(const Substitution& rule, const Proved& proved, const IndexProof& index);

}  // namespace lemma::verifier
