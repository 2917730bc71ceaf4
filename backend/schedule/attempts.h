#pragma once
// Placements with the time at which they end as planned, for policies that try several.

#include "backend/schedule/placement.h"

namespace lemma::backend {

struct Attempt {
  Placement placement;
  double end = 0;  // seconds
};

/// See placement.h.
Attempt attempt_critical_path(const OperatorGraph& graph, const VirtualDevice& device);
Attempt attempt_waves(const OperatorGraph& graph, const VirtualDevice& device);
Attempt attempt_waves_without_choice(const OperatorGraph& graph, const VirtualDevice& device);

}  // namespace lemma::backend
