#pragma once
// Which relations hold between the two sides of a rule, and what each needs (docs/semantics.md, "What
// is read"): decided by index proofs of both directions, whatever the rule itself claims.

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma::verifier {

/// One direction of a rule as a refinement.
struct DirectionProof {
  bool proved = false;
  /// Inputs that have to be defined: the side arrived at reads more of them than the side left.
  std::set<std::string> defined;
  std::string reason;  // not proved
};

struct Obligations {
  DirectionProof forward, backward;
  bool claim_holds = false;  // the rule as it is written
  double seconds = 0;

  /// Inputs that have to be defined for an equation; nothing if it is not proved in both directions.
  std::optional<std::set<std::string>> equation() const;
};

Obligations obligations_of(const Substitution& rule);
/// The same for many rules on several threads (0: all processors), in their order.
std::vector<Obligations> obligations_of(std::span<const Substitution> rules, int threads);

/// "L = R", "L => R, L = R for defined x", ...
std::string relations_text(const Obligations& obligations);

}  // namespace lemma::verifier
