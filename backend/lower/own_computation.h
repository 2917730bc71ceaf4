#pragma once
// Computations by kernels of one's own (backend/own_kernel.h), and how they are kept from passes that rewrite definitions.

#include <string_view>

#include "backend/lower/computation.h"

namespace lemma::backend {

/// Whether a kernel of the target applies to the node.
bool has_own_kernel(const Graph& graph, const Node& node, std::string_view target);

/// What stands for such a computation where accesses are asked for: each element, by row and place in the row, reads all of
/// each operand.
Definition access_definition(const std::vector<lowering::InputView>& operands, DataType result,
                             std::int64_t rows, std::int64_t elements);

/// Passes between hide() and shown() see a graph without those computations: their results are inputs, and their operands are
/// outputs, or inputs where they were weights. So nothing is fused with them, and nothing that they read changes its form.
class HiddenComputations {
 public:
  ComputationGraph hide(ComputationGraph graph);
  /// The graph with the computations again, each after what it reads.
  ComputationGraph shown(ComputationGraph graph);

 private:
  struct Kept {
    Memory memory;  // before
    bool is_input;  // meanwhile
  };
  void keep(ComputationGraph& graph, BufferNumber buffer, bool is_result);

  std::vector<Computation> computations_;
  std::vector<BufferNumber> numbers_;  // of the kept buffers, as they were hidden
  std::vector<Kept> kept_;             // the same
};

}  // namespace lemma::backend
