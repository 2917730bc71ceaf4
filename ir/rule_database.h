#pragma once
// The rules that may be used: those of rules/substitutions/*.rules for which
// rules/substitutions.proofs has a record that fits. A rule whose text, or the text of an axiom that
// its proof uses, has changed since it was proved is refused.
//
//   rules/axioms/*.axioms            what proofs start from
//   rules/axioms.rounding            what axioms change for floating-point numbers: ir/rounding.h
//   rules/axioms.proofs              one line an axiom: verifier/index/axiom_proofs.h
//   rules/substitutions/*.rules      the rules
//   rules/substitutions.proofs       one line a rule, written by `lemma rules verify --write`

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"
#include "ir/rounding.h"
#include "ir/substitution.h"

namespace lemma {

/// Raised whenever what counts as a proof changes: older records no longer fit.
inline constexpr int proof_version = 3;

/// What is kept of a proof.
struct ProofRecord {
  std::string rule;
  std::uint64_t rule_digest = 0;    // of the rule's canonical text
  std::uint64_t axioms_digest = 0;  // of the canonical texts of the axioms used, in order
  std::size_t cases = 0;            // ranks, permutations, ... proved one by one
  std::vector<std::string> groups;  // "B:0..3", for people: the text digest covers them
  std::vector<std::string> axioms;  // names, sorted
  std::string certificate;          // SHA-256 of its file: `lemma rules verify` compares
  int version = proof_version;
  friend bool operator==(const ProofRecord&, const ProofRecord&) = default;
};

/// What is recorded of a certificate.
std::string certificate_digest(std::string_view certificate);

/// 64-bit FNV-1a over the bytes.
std::uint64_t text_digest(std::string_view text);
std::uint64_t axioms_digest(std::span<const Substitution* const> axioms);

std::string text(const ProofRecord& record);  // one line, without its end
Result<ProofRecord> parse_proof_record(std::string_view line);
/// The whole file; the order of the records is kept.
std::string proof_file_text(std::span<const ProofRecord> records);
Result<std::vector<ProofRecord>> parse_proof_file(std::string_view text, std::string_view file);

/// All substitutions in the files of a folder with the given extension (".rules"), file after file
/// in the order of their names. Names must be unique.
Result<std::vector<Substitution>> read_substitutions(const std::filesystem::path& folder,
                                                     std::string_view extension);
Result<std::string> read_text_file(const std::filesystem::path& file);

class RuleDatabase {
 public:
  /// A class for each rule.
  RuleDatabase(std::vector<Substitution> rules, std::vector<RoundingClass> rounding)
      : rules_(std::move(rules)), rounding_(std::move(rounding)) {}
  std::span<const Substitution> substitutions() const { return rules_; }
  std::span<const RoundingClass> rounding() const { return rounding_; }
  /// The rules that are no worse than `worst`.
  std::vector<Substitution> up_to(RoundingClass worst) const;

 private:
  std::vector<Substitution> rules_;
  std::vector<RoundingClass> rounding_;
};

/// `directory` is the folder rules/. The error lists every rule without a fitting proof record.
Result<RuleDatabase> load_rules(const std::filesystem::path& directory);

}  // namespace lemma
