#pragma once
// The claims of certificates as problems for provers of first-order logic with equality.
//
// A problem has tensors as its only individuals. Each operator with its attributes and the types of
// its operands is a function of its own, and each type a predicate; their names are numbers, so
// that none means anything to a prover. Assumed are, for all tensors of the types named:
//   - the axioms that the certificate's steps use, at the attributes and types at which they do, but
//     not at which tensors: those are for the prover to find;
//   - what types the results of operators have.
// To be shown: over constants of the types of the rule's inputs, the outputs are pairwise equal.
//
// There is one problem for each chain of a certificate, that of the first case that the chain
// proves; the other cases differ in the types only.

#include <string>
#include <vector>

#include "base/result.h"
#include "verifier/checker/certificate.h"

namespace lemma::exchange {

/// An application f(a, b) of a function, or a variable.
struct FormulaTerm {
  std::string head;
  std::vector<std::size_t> operands;  // positions of earlier terms
};

/// A formula for all variables that satisfy their guards: two terms are equal, or one satisfies a
/// predicate.
struct Formula {
  std::vector<std::pair<std::string, std::string>> variables;  // names and guards
  std::vector<FormulaTerm> terms;
  std::vector<std::pair<std::size_t, std::size_t>> equal;  // all of these
  std::string predicate;                                   // or this, of the last term
  std::string comment;
};

struct Problem {
  std::string name;                                            // "RULE.CHAIN"
  std::vector<std::string> comments;                           // what the names stand for
  std::vector<std::pair<std::string, std::size_t>> functions;  // names and numbers of arguments
  std::vector<std::string> predicates;
  std::vector<Formula> assumptions;
  Formula goal;
};

Result<std::vector<Problem>> problems_of(const checker::Certificate& certificate);

std::string tptp(const Problem& problem);    // fof; a theorem
std::string smtlib(const Problem& problem);  // UF; unsat

}  // namespace lemma::exchange
