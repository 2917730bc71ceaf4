#pragma once
// The elements of a region, as runs of neighbours.

#include "backend/program.h"

namespace lemma::backend {

/// Calls visit(first, end) for each run of elements that lie together.
template <typename Visit>
Result<void> visit_runs(const Region& region, const Visit& visit) {
  const bool ends_in_run = !region.axes.empty() && region.axes.back().stride == 1;
  const std::size_t outer = region.axes.size() - (ends_in_run ? 1 : 0);
  const std::int64_t length = ends_in_run ? region.axes.back().extent : 1;
  std::vector<std::int64_t> indices(outer, 0);
  std::int64_t first = region.base;
  while (true) {
    LEMMA_RETURN_IF_ERROR(visit(first, first + length));
    std::size_t axis = outer;
    while (axis > 0 && indices[axis - 1] + 1 == region.axes[axis - 1].extent) {
      --axis;
      first -= indices[axis] * region.axes[axis].stride;
      indices[axis] = 0;
    }
    if (axis == 0) return {};
    ++indices[axis - 1];
    first += region.axes[axis - 1].stride;
  }
}

}  // namespace lemma::backend
