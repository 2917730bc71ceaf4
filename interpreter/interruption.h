#pragma once
// Interruption of an evaluation.

#include "interpreter/evaluate.h"

namespace lemma::interpreter {

/// Whether the options ask for evaluation to end.
inline bool is_interrupted(const EvaluationOptions& options) {
  if (options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed))
    return true;
  return options.deadline && std::chrono::steady_clock::now() > *options.deadline;
}

inline tl::unexpected<Error> interruption() {
  return unsupported("evaluation was interrupted before its end");
}

}  // namespace lemma::interpreter
