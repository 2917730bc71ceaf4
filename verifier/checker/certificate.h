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

inline constexpr std::string_view format_line = "lemma certificate 3";

/// The value of an axiom's input: what stands at a position of the tuple, or a term.
struct Reference {
  Position position;  // if not empty
  TermId term;        // otherwise: in Certificate::terms
};

/// One side of an axiom's output, found at a position, becomes the other side.
struct Step {
  const Substitution* axiom = nullptr;
  bool backward = false;     // from the axiom's right side to its left
  std::uint32_t output = 0;  // which of the axiom's outputs
  Position position;
  std::vector<Reference> inputs;
  std::vector<std::pair<std::string, RuleExpression>> variables;  // over the rule's variables
};
using Chain = std::vector<Step>;

struct Certificate {
  Substitution rule;
  Substitution terms;   // the rule, and the terms that steps speak of
  std::string witness;  // " n=4, m=5"
  std::string rounding;
  std::vector<Chain> chains;
  std::size_t case_count = 0;
  std::string cases_digest;  // SHA-256 of the lines of all cases: replay.h
  /// Cases, counted from 0, that another chain than the first proves: its position in `chains`.
  std::map<std::size_t, std::size_t> other_chains;

  std::size_t chain_of(std::size_t case_number) const {
    const auto other = other_chains.find(case_number);
    return other == other_chains.end() ? 0 : other->second;
  }
};

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
