#pragma once
// A graph as computations: each makes one tensor in a buffer from tensors in buffers, by a definition with
// constant sizes. Reshapes and the like are no computations: their results are the buffers of what they reshape.

#include "backend/program.h"
#include "ir/graph.h"

namespace lemma::backend {

struct Computation {
  std::string name;         // of the tensor
  std::string description;  // of the operator
  Definition definition;
  std::uint32_t output = 0;                // of the definition
  std::vector<lowering::InputView> views;  // by input of the definition
  std::vector<BufferNumber> operands;      // the same; no_buffer for absent ones
  BufferNumber result = 0;
  bool is_stored = false;  // rather than computed where it is read
  /// Numbers of what it was fused from, for whoever has given computations numbers before.
  std::vector<std::size_t> sources = {};
  LoopSchedule schedule = {};
  /// Stands in place of the definition, which then only says what is read and written (own_computation.h); or null.
  std::shared_ptr<const OwnKernel> own = nullptr;
};

inline constexpr BufferNumber no_buffer = 0xffffffffU;

/// Computations that become one operator, a phase each.
struct Group {
  std::vector<std::size_t> members;  // ascending numbers of computations
  std::int64_t points = 1;           // of the grid, which is the first axes of each
  Stitching stitching = Stitching::block;
};

struct ComputationGraph {
  std::vector<Buffer> buffers;
  std::vector<Computation> computations;  // in an order in which each comes after what it reads
  std::vector<BufferNumber> inputs, outputs;
  /// Each computation in one of them, in an order in which each group comes after those whose results it reads. None:
  /// each computation is an operator.
  std::vector<Group> groups;
};

/// A graph without composite operators (ir/expand.h) whose sizes are constant. Outputs get buffers of their own.
/// Errors are `bad_input`, sizes that are not constant, or `unsupported`: everything that has no loop nest is named.
/// `kernels_of`: the target whose kernels of one's own are taken (ir/kernel_override.h); empty: none are.
Result<ComputationGraph> lower_graph(const Graph& graph, std::string_view kernels_of = {});

Result<lowering::LoweredOutput> nest_of(const Computation& computation);

}  // namespace lemma::backend
