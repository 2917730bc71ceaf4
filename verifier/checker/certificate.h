#pragma once
// A certificate: the proof of one rule as text, which docs/certificates.md describes byte by byte. Files hold
// any number of them, one after the other (rule_language/certificate_pack.h).

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "facts/position.h"
#include "rule_language/digests.h"
#include "rule_language/rounding.h"
#include "rule_language/substitution.h"

namespace lemma::checker {

inline constexpr std::string_view format_line = "lemma certificate 3";  // the first line of each

/// The value of an axiom's input: what stands at a position of the tuple, or a term.
struct Reference {
  Position position;  // if not empty
  TermId term;        // otherwise: in Certificate::terms
};

/// One side of an axiom's output, found at a position, becomes the other side.
struct Step {
  const Substitution* axiom = nullptr;  // in the table that the certificate was read with
  bool backward = false;                // from the axiom's right side to its left
  std::uint32_t output = 0;             // which of the axiom's outputs
  Position position;              // where the side stands: the output of the tuple, then operands
  std::vector<Reference> inputs;  // by input of the axiom
  std::vector<std::pair<std::string, RuleExpression>> variables;  // over the rule's variables
};
using Chain = std::vector<Step>;  // from the left outputs of a rule to the right ones

/// A certificate as it was read. Its axioms are those of the table that it was read with.
struct Certificate {
  Substitution rule;           // the claim
  Substitution terms;          // the rule, and the terms that steps speak of
  std::string witness;         // " n=4, m=5"
  std::string rounding;        // the class, as rule_language/rounding.h names it
  std::vector<Chain> chains;   // at least one
  std::size_t case_count = 0;  // of the family of sizes that the claim is proved for
  std::string cases_digest;    // SHA-256 of the lines of all cases: replay.h
  /// Cases, counted from 0, that another chain than the first proves: its position in `chains`.
  std::map<std::size_t, std::size_t> other_chains;

  /// The position in `chains` of the one that proves a case.
  std::size_t chain_of(std::size_t case_number) const {
    const auto other = other_chains.find(case_number);
    return other == other_chains.end() ? 0 : other->second;
  }
};

/// By name; owned by others.
using AxiomTable = std::map<std::string, const Substitution*, std::less<>>;
/// Reads a certificate and compares the digests of what it is about. Everything in it must be in
/// canonical form. Errors name the line, counted from the first line of the certificate in its file.
Result<Certificate> parse_certificate(std::string_view text, const AxiomTable& axioms,
                                      Digests& digests, std::size_t first_line = 1);

/// Checks that its class is that of the worst of the axioms its steps use.
Result<void> check_rounding(const Certificate& certificate, const RoundingTable& table);
/// The certificate's rule, and the axioms that its steps use.
std::vector<const Substitution*> used_by(const Certificate& certificate);

/// Adds the terms it speaks of to `terms`. The line is "step NAME forward 0 at 0.1: x=@0.1.0".
Result<Step> parse_step(std::string_view line, const AxiomTable& axioms, Substitution& terms);

}  // namespace lemma::checker
