#pragma once
// The answer to "does this substitution hold?" is a value. Only `Proved` lets a rule be used;
// `Unknown` never reads as success.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace lemma::verifier {

struct Proved {
  std::vector<std::string> axioms;  // names of those that the proofs use, sorted
  std::size_t instances = 0;  // choices of ranks, permutations, ... that were proved one by one
  std::size_t steps = 0;      // axiom instances in all proofs together
  std::string witness;        // an instance that meets the conditions: "A=[2, 3], n=4"
  std::string certificate;    // docs/certificates.md; empty if no concrete instance is known
};

/// Concrete inputs on which the two sides differ.
struct Refuted {
  std::string assignment;  // values of the rule's variables, and the shapes of its inputs
  std::string inputs;      // contents of the inputs
  std::string difference;  // first differing index and both values; or that a side is undefined
  std::string record;      // all of it, to be evaluated again: verifier/prover/counterexample.h
};

struct Unknown {
  std::string reason;
};

using Verdict = std::variant<Proved, Refuted, Unknown>;

inline bool is_proved(const Verdict& verdict) { return std::holds_alternative<Proved>(verdict); }
inline bool is_refuted(const Verdict& verdict) { return std::holds_alternative<Refuted>(verdict); }

/// One line for people.
std::string text(const Verdict& verdict);

}  // namespace lemma::verifier
