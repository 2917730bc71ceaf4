#pragma once
// A certificate: the proof of one rule as text, which docs/certificates.md describes byte by byte.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/position.h"
#include "ir/result.h"
#include "rule_language/digests.h"
#include "rule_language/rounding.h"
#include "rule_language/substitution.h"

namespace lemma::checker {

inline constexpr std::string_view format_line = "lemma certificate 2";

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
  /// "case A=[A.0], p=[0] -> [A.0]", and the position of its chain in `chains`.
  std::vector<std::pair<std::string, std::size_t>> cases;
};

using AxiomTable = std::map<std::string, const Substitution*, std::less<>>;
/// Reads a certificate and compares all its digests. Everything in it must be in canonical form.
Result<Certificate> parse_certificate(std::string_view text, const AxiomTable& axioms,
                                      Digests& digests);

/// That its class is that of the worst of the axioms its steps use.
Result<void> check_rounding(const Certificate& certificate, const RoundingTable& table);
/// Its rule, and the axioms that its steps use.
std::vector<const Substitution*> used_by(const Certificate& certificate);

/// Adds the terms it speaks of to `terms`. The line is "step NAME forward 0 at 0.1: x=@0.1.0".
Result<Step> parse_step(std::string_view line, const AxiomTable& axioms, Substitution& terms);

}  // namespace lemma::checker
