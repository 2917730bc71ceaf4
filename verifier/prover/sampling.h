#pragma once
// Exact evaluation of both sides on small concrete instances. It refutes false claims, and checks
// every axiom and every proved rule independently of the prover.

#include <cstdint>
#include <optional>
#include <vector>

#include "rule_language/substitution.h"
#include "verifier/verdict.h"

namespace lemma::verifier {

struct SamplingOptions {
  std::size_t wanted = 24;      // instances to evaluate
  std::size_t attempts = 6000;  // choices tried; most do not make the left side well typed
  std::uint64_t seed = 1;
};

struct Sampling {
  std::size_t evaluated = 0;
  std::optional<Refuted> counterexample;
  std::string witness;  // values of all variables in the first instance evaluated: "A=[2, 3], n=4"
  std::string failure;  // why instances that are well typed could not be evaluated
};

/// Sizes are small, unequal and sometimes 1; strides, groups, pads and kernels vary. Real parameters and types are
/// drawn: every second instance has numbers of any magnitude and another element type than f32. Contents are integers,
/// evaluated in exact integers, or residues of a prime field, where a number of any magnitude is exact. Where an operator
/// leaves both, reals in f64 with a relative tolerance of 1e-9, or of 1e-2 where numbers are up to 2^14.
Sampling sample(const Substitution& rule, const SamplingOptions& options = {});

/// How far both sides are from f64 when computed in a narrower type, operation by operation as the
/// definitions say.
struct RoundingError {
  std::size_t instances = 0;
  /// The sides have the same bits in every instance, but for the sign of zero.
  bool identical = true;
  double left = 0, right = 0;  // largest error, relative to the largest element of its output
  std::string difference;      // of the first instance that is not identical
};

/// Measures rounding as sample() samples, but with contents of magnitudes from 2^-6 to 2^6. `real`
/// is f32 or f16; other types that a rule states are kept.
RoundingError measure_rounding(const Substitution& rule, DataType real,
                               const SamplingOptions& options = {});

/// An instance whose left side is well typed, and whether the right side is defined and equal.
struct LabelledInstance {
  RuleBindings bindings;
  bool holds = false;
};
std::vector<LabelledInstance> label_instances(const Substitution& rule,
                                              const SamplingOptions& options);

}  // namespace lemma::verifier
