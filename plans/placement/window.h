#pragma once
// A block of a tensor's elements, as one rank may have it.

#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "plans/placement/placement.h"

namespace lemma::plans {

/// Along one axis, elements that follow one another.
struct Interval {
  std::int64_t begin = 0, size = 0;
  friend auto operator<=>(const Interval&, const Interval&) = default;
};

/// By axis of the tensor; without intervals it is the whole tensor.
using Window = std::vector<Interval>;

/// The window as it is written where it has all elements: without intervals.
Window normalized(Window window, const std::vector<std::int64_t>& whole);
/// What the device with this number has of a tensor that can be cut so; the last axis of the mesh is the fastest.
Window window_of(const Placement& placement, const Mesh& mesh, std::size_t device,
                 const std::vector<std::int64_t>& whole);
/// "all", or as "2 to 4 of axis 0, 0 to 8 of axis 1" for the axes that are cut.
std::string text(const Window& window, const std::vector<std::int64_t>& whole);
/// Adds the part of a tensor of known sizes. An error: the window is not in the tensor.
Result<ValueId> cut(Graph& graph, ValueId whole, const Window& window);

}  // namespace lemma::plans
