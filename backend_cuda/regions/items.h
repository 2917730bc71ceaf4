#pragma once
// What is chosen between: computations as they are fused, each with the call that could take its place, or that of the first
// of what was fused.

#include <optional>
#include <vector>

#include "backend/compile/compile.h"
#include "backend_cuda/libraries/exact_call.h"
#include "costmodel/device.h"

namespace lemma::backend {

/// What computations take within a persistent kernel, if nothing else ran.
struct PersistentCost {
  double work = 0;  // over the number of units
  double path = 0;  // from the first task's beginning to the last one's end
};

struct CallCandidate {
  ExactCall call;
  std::vector<BufferNumber> operands;  // of the call
  BufferNumber result = 0;
  std::vector<std::size_t> computed;  // numbers of the computations that it computes, ascending
  std::vector<std::size_t> rest;      // of the item: computed behind it
  PersistentCost of_rest;
  double seconds = 0;  // with its launch
};

struct Item {
  std::vector<std::size_t> members;  // numbers of computations, ascending
  std::vector<std::size_t> after;    // items whose results it reads, ascending
  PersistentCost cost;
  std::optional<CallCandidate> candidate;
};

/// The items in an order in which each comes after what it reads. `calls`: the description of the device that calls are
/// priced by (roofline.h).
Result<std::vector<Item>> items_of(const ComputationGraph& graph, const CompileOptions& options,
                                   const Device& calls);

/// Some computations of a graph as a graph of their own: what they read from others becomes inputs, what others read of
/// them becomes outputs. `members`: ascending.
struct GraphPart {
  ComputationGraph graph;
  std::vector<BufferNumber> inputs, outputs;  // of the whole graph
};
GraphPart part_of(const ComputationGraph& graph, const std::vector<std::size_t>& members);

}  // namespace lemma::backend
