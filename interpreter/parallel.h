#pragma once
// Work divided among threads, and its interruption.

#include <cstdint>
#include <functional>

#include "interpreter/evaluate.h"

namespace lemma::interpreter {

/// Calls body(begin, end) on ranges that make up 0 .. count, from several threads at once.
void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t)>& body);

/// Whether the options ask for evaluation to end.
bool is_interrupted(const EvaluationOptions& options);
tl::unexpected<Error> interruption();

}  // namespace lemma::interpreter
