#pragma once
// What no schedule of an operator graph on a virtual device can beat, whatever kernels it chooses.

#include "backend/program.h"

namespace lemma::backend {

/// Work that has to be done before an operator can begin counts for both: a task that reads all of a result begins
/// after the work of all that this result is made from, over the number of units.
struct LowerBound {
  double work = 0;           // the least work of each operator, over the number of units
  double critical_path = 0;  // the longest path, if waiting cost nothing
  /// The same with what it costs to wait: where each task of an operator reads what several tasks of the one before
  /// write, either these have run on one unit, or what ran on others has to be waited for.
  double path_with_events = 0;

  double seconds() const { return work > critical_path ? work : critical_path; }
  double seconds_with_events() const { return work > path_with_events ? work : path_with_events; }
};

/// The time of the one launch is part of no bound, nor that until units have the weights that they keep.
LowerBound lower_bound(const OperatorGraph& graph, const VirtualDevice& device);

}  // namespace lemma::backend
