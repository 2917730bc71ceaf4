#pragma once
// Claims in files of tests/attack/, and what the two provers say of them.

#include <string>
#include <vector>

#include "rule_language/substitution.h"
#include "verifier/prover/prove.h"

namespace lemma::attack {

struct Claim {
  std::string name;
  std::string error;  // of the parser; then there is no claim
  Substitution rule;
};

/// The claims of one file, each parsed by itself so that one that does not parse hides no other.
/// "axiom" and "rule" are the same here: every claim is read as a rule.
std::vector<Claim> read_claims(const std::string& file);

/// Names of the files tests/attack/false/*.axioms, sorted, without folder and extension.
std::vector<std::string> families();

struct Answer {
  bool proved = false;
  std::string reason;  // why not
  double seconds = 0;
};
/// The proof from the definitions of the operators.
Answer ask_index(const Substitution& rule);
/// The proof from the shipped axioms. Nothing is evaluated: no counterexample helps.
Answer ask_axioms(const Substitution& rule);
/// Whether exact evaluation finds a counterexample ("proved" says that it does).
Answer ask_evaluation(const Substitution& rule);

}  // namespace lemma::attack
