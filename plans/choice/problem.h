#pragma once
// What has to be chosen: a strategy for each node, where strategies take time and memory, and pairs of strategies of nodes
// that are connected take time too. Nothing of graphs or tensors.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"

namespace lemma::choice {

using NodeNumber = std::uint32_t;
using StrategyNumber = std::uint32_t;
using Bytes = std::uint64_t;
using Moment = std::uint32_t;

struct Strategy {
  double seconds = 0;
  Bytes bytes = 0;
};

/// The memory of a node is there at the moments from `begin` until before `end`. Where all nodes are as they are made
/// here, the sum over all nodes counts.
struct Node {
  std::vector<Strategy> strategies;
  Moment begin = 0, end = 1;
};

/// seconds[s * strategies of `to` + t]: what it takes that `from` has strategy s and `to` has t. Infinity: not together.
struct Edge {
  NodeNumber from = 0, to = 0;
  std::vector<double> seconds;
};

struct Problem {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  /// Nodes of a group have the same strategy, by number.
  std::vector<std::vector<NodeNumber>> alike;
  /// At each moment.
  std::optional<Bytes> limit;
};

/// Says whether a search is to end with what it has found; none: it never is.
using Stop = std::function<bool()>;
inline bool is_stopped(const Stop& stop) { return stop && stop(); }

/// A strategy for each node.
using Choice = std::vector<StrategyNumber>;

/// An error: nodes without strategies or that are not there, tables of another size, times that are negative or not
/// numbers, nodes that are alike and have different numbers of strategies.
Result<void> check_problem(const Problem& problem);

double seconds_of(const Problem& problem, const Choice& choice);
/// The most memory of all moments.
Bytes peak_of(const Problem& problem, const Choice& choice);
/// Whether nodes that are alike are so, and the limit is kept.
bool is_allowed(const Problem& problem, const Choice& choice);

}  // namespace lemma::choice
