#pragma once
// Records of proofs. Loading compares them, so that a proof is accepted only for exactly what was
// proved. A record is not a signature: anyone who can write rules can write records. It protects
// against accidental changes and damage. `lemma rules verify --axioms` proves everything again.
//
//   rules/axioms.proofs          one line for each axiom with an index proof
//   rules/substitutions.proofs   one line for each rule with a certificate and an index proof
//   rules/one_proof.proofs       one line for each rule with one of the two
//
// `sha256` of an axiom's record covers the axiom's canonical text, the meanings of its operators and
// attribute functions (rule_language/operator_meaning.h), and the other fields. That of a rule covers the same, and the
// records of the axioms that its proof uses. docs/rules.md, "Records", has the exact contents.

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rule_language/substitution.h"

namespace lemma {

/// Raised whenever what counts as a proof from axioms changes: older records no longer fit.
inline constexpr int proof_version = 4;
/// The same for index proofs (docs/index_proofs.md).
inline constexpr int index_proof_version = 4;

struct AxiomRecord {
  std::string axiom;
  std::string digest;  // SHA-256 of all that the record covers
  std::string text;    // SHA-256 of the canonical text
  std::size_t cases = 0;
  int version = index_proof_version;
  friend bool operator==(const AxiomRecord&, const AxiomRecord&) = default;
};

struct ProofRecord {
  std::string rule;
  std::string digest;               // SHA-256 of all that the record covers
  std::string text;                 // SHA-256 of the canonical text
  std::string certificate;          // SHA-256 of its text; empty: there is none
  std::string index;                // index_proof_digest(); empty: there is no index proof
  std::size_t cases = 0;            // ranks, permutations, ... proved one by one
  std::vector<std::string> groups;  // "B:0..3", for people: the text covers them
  std::vector<std::string> axioms;  // names, sorted
  int version = proof_version;
  friend bool operator==(const ProofRecord&, const ProofRecord&) = default;
};

using AxiomRecordTable = std::map<std::string, AxiomRecord, std::less<>>;

/// The record of an axiom that was proved in so many cases.
AxiomRecord axiom_record(const Substitution& axiom, std::size_t cases);
/// The digest of what an index proof of a rule is about: version, text, and meanings. An empty digest
/// in a record says that there is no such proof.
std::string index_proof_digest(const Substitution& rule);
/// The digest that the record must have, from its other fields, the rule and the records of its axioms.
std::string sealed_digest(const ProofRecord& record, const Substitution& rule,
                          const AxiomRecordTable& axioms);
std::string certificate_digest(std::string_view certificate);

/// Computes, on several threads, the meanings that records of these cover: they are asked for soon.
void prepare_meanings(std::span<const Substitution> axioms, std::span<const Substitution> rules);

/// Why the record does not prove the axiom; empty if it does.
std::string misfit(const AxiomRecord& record, const Substitution& axiom);
/// The reason for each axiom that has no fitting record.
std::map<std::string, std::string, std::less<>> axioms_without_proof(
    std::span<const Substitution> axioms, const AxiomRecordTable& records);
/// The same for a rule whose axioms fit but for those in `unproved`. Whether the
/// certificate is the one on record is not asked here.
std::string misfit(const ProofRecord& record, const Substitution& rule,
                   const AxiomRecordTable& axioms,
                   const std::map<std::string, std::string, std::less<>>& unproved);

std::string text(const AxiomRecord& record);  // one line, without its end
std::string text(const ProofRecord& record);
Result<ProofRecord> parse_proof_record(std::string_view line);

/// Whole files; the order of the records is kept. Two records of one name are an error.
std::string axiom_file_text(std::span<const AxiomRecord> records);
Result<std::vector<AxiomRecord>> parse_axiom_file(std::string_view contents, std::string_view file);
std::string proof_file_text(std::span<const ProofRecord> records);
Result<std::vector<ProofRecord>> parse_proof_file(std::string_view contents, std::string_view file);

AxiomRecordTable table_of(std::span<const AxiomRecord> records);

}  // namespace lemma
