#pragma once
// What is computed, what that takes, and in which order: problems and plans of memory, without anything of graphs.
//
// A node computes one value from the values of its operands. A value takes memory from the moment its node runs until it
// is freed, and may be computed again after that. While a node runs, its operands, its value and its workspace are there.

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace lemma::memory_plan {

using NodeNumber = std::uint32_t;
using Bytes = std::uint64_t;

struct Node {
  double seconds = 0;
  Bytes bytes = 0;                   // of its value
  Bytes workspace = 0;               // beside that, while it runs
  std::vector<NodeNumber> operands;  // each once, ascending
  bool is_kept = false;              // the value has to be there at the end
};

/// Nodes come after their operands.
struct Problem {
  std::vector<Node> nodes;
};

/// An error: an operand that comes later, or operands that are not in order.
Result<void> check_problem(const Problem& problem);

/// One run of a node, and the values that are freed after it.
struct Step {
  NodeNumber node = 0;
  std::vector<NodeNumber> freed;
};
struct Plan {
  std::vector<Step> steps;
};

/// Nodes in the order in which they run; a node may occur several times.
using Sequence = std::vector<NodeNumber>;

/// The plan that runs nodes in this order and frees each value after its last use.
Plan plan_of(const Problem& problem, const Sequence& sequence);
Sequence sequence_of(const Plan& plan);

/// The order in which the problem has its nodes, those left out that nothing needs.
Sequence given_order(const Problem& problem);

/// The sum over nodes that run once.
double least_seconds(const Problem& problem);

/// No plan needs less: the most that one node needs to run, or what is kept.
Bytes largest_working_set(const Problem& problem);
/// What is there while a node runs, at least.
Bytes working_set(const Problem& problem, NodeNumber node);

/// By node, whether something kept depends on it, or it is kept.
std::vector<bool> needed_nodes(const Problem& problem);

/// By node, those that have it as an operand, ascending.
std::vector<std::vector<NodeNumber>> users_of(const Problem& problem);

}  // namespace lemma::memory_plan
