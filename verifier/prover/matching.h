#pragma once
// Where the left side of an axiom occurs among terms, up to the equalities known so far.

#include <vector>

#include "ir/substitution.h"
#include "verifier/prover/closure.h"

namespace lemma::verifier {

struct Match {
  std::vector<ValueId> inputs;  // the oldest value of each class
  std::vector<ValueId> left;    // values that equal the outputs of the left side
  RuleBindings bindings;
};

/// All matches, in a fixed order, but at most `limit`.
std::vector<Match> find_matches(const Closure& terms, const Substitution& axiom, std::size_t limit);

}  // namespace lemma::verifier
