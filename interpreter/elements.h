#pragma once
// All elements of one term, by the strip evaluator.

#include <cstdint>
#include <span>
#include <vector>

#include "interpreter/evaluate.h"
#include "interpreter/lane_memory.h"
#include "lowering/lower.h"

namespace lemma::interpreter {

/// Where the elements go: one for each point of `axes`, in row-major order.
struct Destination {
  std::vector<LoopVariable> axes;  // the term's free variables are among them
  std::byte* elements = nullptr;
  ElementAccess access;
};

/// `inputs` are the bytes of the graph's inputs, in order.
Result<void> evaluate_elements(const TermGraph& graph, TermNumber root,
                               std::span<const std::byte* const> inputs,
                               const Destination& destination, const EvaluationOptions& options);

}  // namespace lemma::interpreter
