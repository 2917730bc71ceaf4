#include "plans/placement/window.h"

#include <fmt/format.h>

namespace lemma::plans {

Window normalized(Window window, const std::vector<std::int64_t>& whole) {
  for (std::size_t axis = 0; axis < window.size(); ++axis)
    if (window[axis].begin != 0 || window[axis].size != whole[axis]) return window;
  return {};
}

Window window_of(const Placement& placement, const Mesh& mesh, std::size_t device,
                 const std::vector<std::int64_t>& whole) {
  std::vector<std::int64_t> coordinates(mesh.rank());
  auto rest = static_cast<std::int64_t>(device);
  for (std::size_t axis = mesh.rank(); axis-- > 0;) {
    coordinates[axis] = rest % mesh.axes[axis].size;
    rest /= mesh.axes[axis].size;
  }
  Window window;
  for (const std::int64_t size : whole) window.push_back({0, size});
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    if (placement[axis].sharing != Sharing::parted) continue;
    Interval& interval = window[placement[axis].axis];
    interval.size /= mesh.axes[axis].size;
    interval.begin += coordinates[axis] * interval.size;
  }
  return normalized(std::move(window), whole);
}

std::string text(const Window& window, const std::vector<std::int64_t>& whole) {
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < window.size(); ++axis)
    if (window[axis].begin != 0 || window[axis].size != whole[axis])
      parts.push_back(fmt::format("{} to {} of axis {}", window[axis].begin,
                                  window[axis].begin + window[axis].size, axis));
  return parts.empty() ? "all" : fmt::format("{}", fmt::join(parts, ", "));
}

Result<ValueId> cut(Graph& graph, ValueId whole, const Window& window) {
  if (window.empty()) return whole;
  const auto& shape = graph.type(whole).shape;
  const auto sizes = shape ? constant_sizes(*shape) : std::nullopt;
  if (!sizes || sizes->size() != window.size())
    return bad_input("a part of a tensor that has other axes");
  Shape starts, ends;
  Integers axes;
  for (std::size_t axis = 0; axis < window.size(); ++axis) {
    const auto [begin, size] = window[axis];
    if (begin < 0 || size < 0 || begin + size > (*sizes)[axis])
      return bad_input(fmt::format("a part from {} to {} of an axis of {} elements", begin,
                                   begin + size, (*sizes)[axis]));
    if (size == (*sizes)[axis]) continue;
    starts.emplace_back(begin);
    ends.emplace_back(begin + size);
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  if (axes.empty()) return whole;
  return graph.add("Slice", {whole},
                   {{"starts", std::move(starts)}, {"ends", std::move(ends)}, {"axes", axes}});
}

}  // namespace lemma::plans
