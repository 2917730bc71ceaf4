#pragma once
// Where the left side of an axiom occurs among terms, up to the equalities known so far.

#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "rule_language/substitution.h"
#include "verifier/prover/closure.h"

namespace lemma::verifier {

struct Match {
  std::vector<ValueId> inputs;  // the oldest value of each class
  std::vector<ValueId> left;    // outputs of nodes that equal those of the left side
  std::vector<NodeId> nodes;    // for each term of the axiom's left side, the node found for it
  RuleBindings bindings;
};

/// What was tried for one axiom: ids of inputs and of nodes, and whether variables can be bound to them. That depends on
/// nothing else, so nothing is tried again when there are more terms and equalities.
using TriedMatches = absl::flat_hash_map<std::vector<std::uint32_t>, bool>;

/// The matches that were not found before, in a fixed order. At most `limit`, with those that were. Each node that is tried
/// for a term of the axiom is a step; when none is left there are no more matches.
std::vector<Match> find_matches(const Closure& terms, const Substitution& axiom, std::size_t limit,
                                TriedMatches& tried, std::size_t& steps_left);

}  // namespace lemma::verifier
