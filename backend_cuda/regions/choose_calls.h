#pragma once
// Which items are calls of libraries, and which are parts of persistent kernels.

#include "backend_cuda/regions/items.h"

namespace lemma::backend {

/// Whether each item is a call. The items stand in an order in which all that may be calls at the same time do so side by
/// side. Of all ways to cut this order into calls and persistent kernels, the choice has the least sum of the calls' prices,
/// of the kernels' times (the work of their items over the units, or the longest path through them with waits if that is
/// longer) and of a launch for each kernel: a shortest path over the places between items. What stands behind calls that
/// compute only the first part of their items is computed by the kernel that follows. At most 24 calls stand side by side in
/// front of such a kernel.
std::vector<bool> choose_calls(const std::vector<Item>& items, double launch_seconds,
                               double seconds_per_event);

/// Each item that a call computes.
std::vector<bool> all_calls(const std::vector<Item>& items);

}  // namespace lemma::backend
