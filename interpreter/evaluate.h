#pragma once
// Evaluation of definitions: the reference for what operators compute.
//
// Results do not depend on the number of threads, nor on whether a definition is lowered: a
// reduction is never divided among threads, and its terms are taken in the order of its variables
// (the last one fastest). Only where few elements are computed by long reductions, the last
// variable is dealt out to 512 partial results, which are combined in pairs.
//
// Functions such as exp come from the C library; their last bit may differ between machines.

#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "interpreter/domain.h"
#include "interpreter/tensor.h"
#include "ir/definition.h"
#include "ir/operator.h"

namespace lemma::interpreter {

/// In what arithmetic a definition is evaluated, and for how long.
struct EvaluationOptions {
  Domain domain = Domain::native;  // of inputs and results
  /// Evaluate definitions as they stand: no contraction kernels, no other lowering.
  bool plain = false;
  /// Terms of a sum or product are taken in the order of the definition, however few elements have however many of
  /// them. Otherwise partial results are combined where lanes would stay empty, so that bits depend on the shape.
  bool in_order = false;
  int threads = 0;  // 0: as many as there are processors
  /// Evaluation ends with an error soon after this moment, or after the flag becomes true.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  const std::atomic<bool>* cancelled = nullptr;  // the flag; null: there is none
};

/// All outputs of a definition whose extents are constant. Inputs are tensors of `options.domain`
/// (absent ones for inputs that the definition does not read). A read outside a tensor that the
/// result depends on is an error.
Result<std::vector<Tensor>> evaluate(const Definition& definition, std::span<const Tensor> inputs,
                                     const EvaluationOptions& options = {});

/// One application of an operator; the shapes in `instance` must be constant and those of `inputs`.
Result<std::vector<Tensor>> evaluate(const OperatorRecord& record, const Instance& instance,
                                     std::span<const Tensor> inputs,
                                     const EvaluationOptions& options = {});

}  // namespace lemma::interpreter
