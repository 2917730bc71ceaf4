#pragma once
// Extraction with a proof of optimality, or a bound: egraph/exact/ applied to our own e-graph.

#include "egraph/extraction.h"

namespace lemma {

struct ExactExtractionOptions {
  double time_limit_seconds = 10;
  /// The proof may end once the bound is this near to the cost, relatively: costs in seconds have
  /// more digits than some solvers can hold.
  double good_enough = 1e-6;
  /// Ask the program clasp where it is installed.
  bool use_programs = true;
  /// Decisions of the own search before other solvers begin.
  std::size_t decisions = 60;
  /// False: none begins, so that the selection is the same in every run that the time limit does not end.
  bool races = true;
};

struct ExactSelection {
  Selection selection;
  /// No selection costs less, up to rounding of the sum of costs to a double; equal to the cost if
  /// `optimal`, and within `good_enough` of it if time was not up.
  double lower_bound = 0;
  bool optimal = false;
  /// The solvers that it took.
  std::string method;
};

/// Never more expensive than `initial`. At the time limit: the best so far, with a lower bound.
Result<ExactSelection> extract_exactly(const EGraph& egraph, std::span<const ClassId> roots,
                                       const NodeCost& cost, const Selection& initial,
                                       const ExactExtractionOptions& options = {});

}  // namespace lemma
