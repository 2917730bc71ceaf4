#pragma once
// Comparing a graph with its original by computing both on random inputs. This is a safety net
// under the proofs: it would show a fault of the program, not of a rule.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ir/graph.h"

namespace lemma {

struct SampledCheckOptions {
  int samples = 1;
  double relative_tolerance = 1e-4;
  double absolute_tolerance = 1e-5;
  std::uint64_t seed = 0;
  int threads = 0;
  /// Computing ends with an error soon after.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
};

struct SampledCheck {
  bool passed = true;
  int samples = 0;
  double max_error = 0;
  double smallest_passing_scale = 0;  // multiple of the tolerances that would have passed
  std::string difference;             // first output that differs, for people
};

/// A graph and what it gives on random inputs. Inputs are taken by name, outputs in order. Symbolic
/// sizes get small values for which the graph can be computed; integer inputs are 0 or 1, so that
/// they are valid indices.
class SampledReference {
 public:
  /// An error: the graph cannot be computed on any of the inputs tried, or not in time. That says
  /// nothing about other graphs. The graph must outlive the reference.
  static Result<SampledReference> compute(const Graph& original,
                                          const SampledCheckOptions& options);

  /// Both graphs are cut at their opaque nodes. Elements of the model's outputs must agree within
  /// the tolerances; a value that goes into an opaque node, whose elements nobody reads one by one,
  /// may differ by the relative tolerance of its largest element. An error: there is too little
  /// time or memory.
  Result<SampledCheck> compare(const Graph& candidate, const SampledCheckOptions& options) const;

 private:
  struct Samples;
  std::shared_ptr<const Samples> samples_;
};

/// Both in one.
Result<SampledCheck> compare_on_random_inputs(const Graph& original, const Graph& candidate,
                                              const SampledCheckOptions& options);

}  // namespace lemma
