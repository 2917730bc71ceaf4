#pragma once
// Digests of what a proof depends on. They are digests of visible texts: the canonical text of an
// axiom, and the section of docs/operators.md about an operator, which has the digest of its meaning.

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
  const std::string& of_operator(OperatorId op);
  /// What a proof that speaks of these rests on: "operator NAME DIGEST" for each operator that
  /// occurs, then "axiom NAME DIGEST" for each axiom among them, sorted.
  std::vector<std::string> lines_about(std::span<const Substitution* const> used);

 private:
  std::map<const Substitution*, std::string> substitutions_;
  std::map<OperatorId, std::string> operators_;
};

}  // namespace lemma
