#pragma once
// Graphs as computations, and what they compute.

#include <gtest/gtest.h>

#include <vector>

#include "backend/lower/computation.h"
#include "interpreter/evaluate.h"
#include "interpreter/random.h"
#include "ir/expand.h"

namespace lemma::backend {

/// The outputs for random inputs, one computation after the other.
inline std::vector<interpreter::Tensor> evaluated(const ComputationGraph& graph,
                                                  const interpreter::RandomRange& range = {}) {
  std::vector<interpreter::Tensor> values(graph.buffers.size());
  for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
    const Buffer& buffer = graph.buffers[i];
    if (buffer.contents) values[i] = interpreter::Tensor::of(*buffer.contents);
    if (buffer.memory == Memory::input)
      values[i] = interpreter::random_tensor(buffer.type, buffer.sizes, 5, buffer.position, range);
  }
  interpreter::EvaluationOptions options;
  options.threads = 1;
  for (const Computation& computation : graph.computations) {
    std::vector<interpreter::Tensor> operands;
    for (std::size_t i = 0; i < computation.operands.size(); ++i) {
      const BufferNumber operand = computation.operands[i];
      operands.push_back(operand == no_buffer
                             ? interpreter::Tensor()
                             : values[operand].with_sizes(computation.views[i].sizes));
    }
    auto results = interpreter::evaluate(computation.definition, operands, options);
    EXPECT_TRUE(results) << computation.description << ": " << results.error().message;
    if (!results) return {};
    values[computation.result] = results->at(computation.output);
  }
  std::vector<interpreter::Tensor> outputs;
  for (const BufferNumber output : graph.outputs)
    outputs.push_back(values[output].with_sizes(graph.buffers[output].sizes));
  return outputs;
}

inline ComputationGraph lowered(const Graph& graph) {
  auto result = lower_graph(*expand_composites(graph));
  EXPECT_TRUE(result) << result.error().message;
  return std::move(*result);
}

}  // namespace lemma::backend
