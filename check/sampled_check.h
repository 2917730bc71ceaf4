#pragma once
// Comparing an optimized graph with its original by computing both: a safety net under the proofs.
// It would show a fault of the program or of a proof.
//
// What is compared (docs/semantics.md says what a result promises):
//
// 1. On random inputs in [-1, 1) both are computed in their own types. Where the original gives a
//    finite number, the result gives one within the tolerance. Where the original gives NaN or an
//    infinity, nothing is asked here.
// 2. On adversarial inputs (check/check_inputs.h) both are computed in f64, whatever their types,
//    so that numbers at the ends of f32 do not overflow and a rounding is far smaller than a fault.
//    - Where the original is finite, the result is finite and within the tolerance.
//    - Where the original is an infinity that the model itself put there, the result is the same.
//    - Integers and booleans are equal.
//    A difference counts unless
//    a. the original's element is undefined: it depends on a quotient by 0 or the like
//       (check/traced_run.h), not only stands beside one;
//    b. the result is infinite or NaN and an intermediate value of it overflowed, even in f64;
//    c. it is within the rounding of the largest intermediate value;
//    d. it is at a border only: it goes away when the inputs change in their 20th bit, three times
//       over, and either side takes another value somewhere when computed in its own type. Then it
//       is rounding that decides a comparison.
// 3. If the result is to keep every bit (`bitwise`), inputs with infinities and NaN come in as well;
//    both are computed in their own types, and bits are compared. A NaN equals any NaN.
//
// Inputs on which the original cannot be computed (an index out of range, sizes that do not fit) say
// nothing. If the original can be computed and the result cannot, the check fails.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check/rounding_spread.h"
#include "check/tolerance.h"
#include "interpreter/run.h"
#include "ir/graph.h"

namespace lemma {

/// What is computed for a comparison, and when two numbers count as equal.
struct SampledCheckOptions {
  int samples = 1;  // sets of random inputs
  /// Tolerances; they follow from the narrowest real type of the original unless given:
  /// check/tolerance.h.
  std::optional<double> relative_tolerance = std::nullopt, absolute_tolerance = std::nullopt;
  std::map<std::string, std::int64_t, std::less<>> sizes = {};  // of symbols, where they are given
  std::uint64_t seed = 0;  // of all inputs; the same seed gives the same ones
  int threads = 0;         // 0: as many as there are processors
  /// Computing ends with an error soon after.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
  /// The same when another thread has set it; null: none does.
  const std::atomic<bool>* cancelled = nullptr;
  /// Sets of adversarial inputs: at most so many, and no further one after the original has been
  /// computed for so long. One is always taken, if there is time at all.
  int adversarial = 60;
  double adversarial_seconds = 0.12;  // of computing the original on them
  bool bitwise = false;               // the result promises every bit
};

/// The tolerance of the check with these options.
inline SampledTolerance tolerance_for(const Graph& original, const SampledCheckOptions& options) {
  return tolerance_for(original, options.relative_tolerance, options.absolute_tolerance);
}

/// The verdict of a comparison.
struct SampledCheck {
  bool passed = true;                 // no difference was found on any of the inputs
  int samples = 0;                    // sets of random inputs compared
  int adversarial = 0;                // sets of adversarial inputs compared
  double max_error = 0;               // on random inputs
  double smallest_passing_scale = 0;  // multiple of the tolerances that would have passed there
  std::string difference;             // first output that differs, for people
};

/// A graph and what it gives. Inputs are taken by name, outputs in order. Symbolic sizes of random
/// inputs get small values for which the graph can be computed; integer inputs are 0 or 1 there, so
/// that they are valid indices.
class SampledReference {
 public:
  /// An error: the graph cannot be computed on any of the random inputs tried, or not in time. That
  /// says nothing about other graphs. The graph must outlive the reference.
  static Result<SampledReference> compute(const Graph& original,
                                          const SampledCheckOptions& options);
  /// Only inputs, for another judge: computing the original takes too long. compare() then looks at what is compared by
  /// structure alone. The graph must outlive the reference.
  static Result<SampledReference> of_inputs(const Graph& original,
                                            const SampledCheckOptions& options);

  /// Whether compare() computes anything.
  bool is_computed() const;

  /// Both graphs are cut at their opaque nodes. Elements of the model's outputs must agree within
  /// the tolerances; a value that goes into an opaque node, whose elements nobody reads one by one,
  /// may differ by the relative tolerance of its largest element. An error: there is too little
  /// time or memory.
  Result<SampledCheck> compare(const Graph& candidate, const SampledCheckOptions& options) const;

  /// What rounding moves the outputs by on the first random inputs, by name (check/rounding_spread.h). Empty: it cannot be
  /// measured, since the graph has opaque nodes or was not computed.
  std::map<std::string, OutputAllowance> allowances(const SampledCheckOptions& options) const;

  /// Inputs for another judge, in the types of the model: the random ones, and those adversarial
  /// ones on which the original is defined everywhere and finite in its own types; at most `most`. Left
  /// out are those on which one rounding of the inputs moves its results further than a quarter of the
  /// tolerance: there it is rounding that decides.
  /// For a graph with opaque nodes, which cannot be computed here, one set of random inputs; three if nothing was computed.
  std::vector<std::vector<interpreter::NamedTensor>> inputs_for_second_judge(
      std::size_t most, const SampledCheckOptions& options) const;

 private:
  struct Samples;
  static Result<std::shared_ptr<Samples>> without_samples(const Graph& original,
                                                          const SampledCheckOptions& options);
  std::shared_ptr<const Samples> samples_;
};

/// Both in one.
Result<SampledCheck> compare_on_random_inputs(const Graph& original, const Graph& candidate,
                                              const SampledCheckOptions& options);

}  // namespace lemma
