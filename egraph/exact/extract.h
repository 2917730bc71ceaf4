#pragma once
// Exact DAG extraction: reduce, start well, reduce by what that costs, and settle each independent
// part that remains by whichever solver proves its optimum first.
//
// Deterministic: `optimal` selections have the same cost and bound in every run, whichever solver
// came first. Which of several optimal selections is returned may depend on that, as may everything
// but validity when the time limit strikes.

#include <string>

#include "egraph/exact/problem.h"

namespace lemma::exact {

struct ExtractOptions {
  /// Wall-clock time; reading and the first greedy selection are not cut short.
  double time_limit_seconds = 60;
  /// Ask the program clasp where it is installed.
  bool use_programs = true;
  /// Decisions of the own search before the solvers race.
  std::size_t first_decisions = 60;
  /// False: these decisions are all, so that the result is the same in every run that the time limit does not end.
  bool races = true;
  /// Solvers stop once the bound is this near to the cost, relatively; 0: only with a proof.
  double good_enough = 0;
  /// A selection that is known, by class; the result never costs more. Empty: none is.
  std::vector<std::uint32_t> initial = {};
};

struct Extraction {
  Selection selection;
  /// No selection costs less; equal to the cost if `optimal`.
  Cost lower_bound = 0;
  bool optimal = false;
  /// What proofs came from: "reduction" alone, or solvers, joined by " + "; "none".
  std::string method;
  /// What reduction left over.
  std::size_t remaining_classes = 0, remaining_nodes = 0;
};

/// An error if some root cannot be chosen.
Result<Extraction> extract(const Problem& problem, const ExtractOptions& options = {});

}  // namespace lemma::exact
