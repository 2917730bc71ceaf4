#pragma once
// Exact evaluation of both sides on small concrete instances: what refutes a false claim, and
// checks every axiom and every proved rule independently of the prover.

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/substitution.h"
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

/// Sizes are small, unequal and sometimes 1; strides, groups, pads and kernels vary. Contents are
/// small integers, evaluated in exact integers or a prime field; where an operator leaves those,
/// reals in f64 with a relative tolerance of 1e-9.
Sampling sample(const Substitution& rule, const SamplingOptions& options = {});

/// An instance whose left side is well typed, and whether the right side is defined and equal.
struct LabelledInstance {
  RuleBindings bindings;
  bool holds = false;
};
std::vector<LabelledInstance> label_instances(const Substitution& rule,
                                              const SamplingOptions& options);

}  // namespace lemma::verifier
