#pragma once
// Saturating a graph in parts, each within limits of its own.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include <absl/container/flat_hash_set.h>

#include "base/deadline.h"
#include "search/partition.h"
#include "search/saturation_round.h"

namespace lemma {

struct PartPassOptions {
  PartitionOptions partition;
  RoundLimits round;  // of each part; its times are shares of what is left
  int threads = 0;    // parts at a time; 0: as many as there are processors
  bool explain = false;
};

struct PartPass {
  Graph graph;  // the whole, constants not folded
  bool changed = false;
  std::size_t parts = 0, tried = 0;  // of them, those that were not known
  std::size_t largest_nodes = 0;     // of their e-graphs
  std::map<std::string, std::size_t> rules_used;
  std::optional<Derivation> derivation;  // if wanted and changed
};

/// Hashes of parts in which nothing cheaper was found, so that no pass looks at them again.
using KnownParts = absl::flat_hash_set<std::uint64_t>;

/// One pass: cuts, saturates what is not known, and puts together. Parts whose turn has not come at
/// the deadline stay as they are.
Result<PartPass> improve_parts(const Graph& graph, const RuleSet& rules, const OperatorCosts& costs,
                               const PartPassOptions& options, const Deadline& deadline,
                               KnownParts& known);

}  // namespace lemma
