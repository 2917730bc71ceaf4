#pragma once
// Digests of what a proof depends on: of an axiom, its canonical text; of an operator, the digest of its meaning
// (rule_language/operator_meaning.h), which docs/operators.md shows.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma {

/// SHA-256, each computed once.
class Digests {
 public:
  const std::string& of_substitution(const Substitution& substitution);
  /// What a proof that speaks of these rests on: "operator NAME DIGEST" for each operator that
  /// occurs, then "axiom NAME DIGEST" for each axiom among them, sorted.
  std::vector<std::string> lines_about(std::span<const Substitution* const> used);

 private:
  std::map<const Substitution*, std::string> substitutions_;
};

}  // namespace lemma
