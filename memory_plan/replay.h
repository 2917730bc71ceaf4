#pragma once
// The judge of plans: an allocator that counts bytes. It shares no code with what makes plans.

#include <optional>

#include "memory_plan/problem.h"

namespace lemma::memory_plan {

struct Replay {
  Bytes peak = 0;
  double seconds = 0;
  /// While each step runs, and after its values are freed.
  std::vector<Bytes> during, after;
  /// How often each node runs.
  std::vector<std::uint32_t> runs;
};

/// An error names the step: an operand that is not there, a value that is computed while it is there, or freed while it
/// is not, a kept value that is not there at the end, or more bytes than the limit.
Result<Replay> replay(const Problem& problem, const Plan& plan,
                      std::optional<Bytes> limit = std::nullopt);

}  // namespace lemma::memory_plan
