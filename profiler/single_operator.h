#pragma once
// A graph of one application of an operator, for measuring it by itself.

#include <vector>

#include "costmodel/cost_key.h"
#include "interpreter/run.h"
#include "ir/graph.h"
#include "profiler/runtime_graph.h"

namespace lemma {

struct SingleOperator {
  Graph graph;
  std::vector<interpreter::NamedTensor> inputs;  // of the graph: "in_0", "in_2", ...
};

/// Operands that are known when the model is built are constants of the graph. All contents are those of
/// contents_for().
Result<SingleOperator> single_operator(const CostKey& key);

RuntimeTensor tensor_of(const TensorType& type, bool constant);

}  // namespace lemma
