#pragma once
// A graph as runtimes of NVIDIA devices run it: one operator after the other, each a call of a library where one knows
// it, else a kernel of its own.

#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/operator_costs.h"
#include "ir/graph.h"

namespace lemma::backend {

struct LibraryPlan {
  std::int64_t calls = 0;     // of cuBLASLt and cuDNN
  std::int64_t kernels = 0;   // one for each other operator that moves data
  double bytes = 0;           // read and written
  double seconds = 0;         // of all of them, with the target's launch_overhead for each launch
  double launch_seconds = 0;  // the target's launch_overhead
  /// The lines of the launches, in order: call_line(), or "copy BYTES" for a kernel that reads and
  /// writes so many.
  std::vector<std::string> lines;

  std::int64_t launches() const { return calls + kernels; }
  /// The seconds with another time for each launch.
  double seconds_with(double launch) const {
    return seconds + static_cast<double>(launches()) * (launch - launch_seconds);
  }
};

/// What depends on constants alone costs nothing, and operators that move no data are no launch. The time of an operator
/// is that of the cost provider. Opaque nodes are an error (`unsupported`).
Result<LibraryPlan> library_plan(const Graph& graph, const OperatorCosts& costs);

}  // namespace lemma::backend
