#pragma once
// Where the left side of an axiom occurs among terms, up to the equalities known so far.

#include <vector>

#include "rule_language/substitution.h"
#include "verifier/prover/closure.h"

namespace lemma::verifier {

struct Match {
  std::vector<ValueId> inputs;  // the oldest value of each class
  std::vector<ValueId> left;    // outputs of nodes that equal those of the left side
  std::vector<NodeId> nodes;    // for each term of the axiom's left side, the node found for it
  RuleBindings bindings;
};

/// All matches, in a fixed order, but at most `limit`.
std::vector<Match> find_matches(const Closure& terms, const Substitution& axiom, std::size_t limit);

}  // namespace lemma::verifier
