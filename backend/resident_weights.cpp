#include "backend/resident_weights.h"

#include <algorithm>

#include "backend/region_box.h"

namespace lemma::backend {

namespace {

/// Elements that lie at equal distances in the buffer and in the memory of a unit.
struct Copied {
  std::int64_t count = 1, from = 1, to = 1;
};

/// Axes with several elements, the last one first. Those that are one in both places are joined.
std::vector<Copied> copied_axes(const ResidentLayout& layout, const RegionBox& box) {
  std::vector<Copied> result;
  std::int64_t from = 1;
  for (std::size_t axis = layout.sizes.size(); axis-- > 0; from *= layout.sizes[axis]) {
    const std::int64_t count = box[axis].second - box[axis].first, to = layout.strides[axis];
    if (count == 1) continue;
    if (!result.empty() && from == result.back().count * result.back().from &&
        to == result.back().count * result.back().to)
      result.back().count *= count;
    else
      result.push_back({count, from, to});
  }
  return result;
}

}  // namespace

std::optional<std::pair<ResidentPart, std::int64_t>> resident_part(const ResidentLayout& layout,
                                                                   const Region& region,
                                                                   std::uint64_t element_bytes) {
  const auto box = box_of_region(region, layout.sizes);
  if (!box) return std::nullopt;
  std::int64_t first = 0;  // where the first element lies, if that of index 0 is at 0
  for (std::size_t axis = 0; axis < box->size(); ++axis) {
    const auto [begin, end] = (*box)[axis];
    if (end - begin > layout.extents[axis]) return std::nullopt;
    first += begin * layout.strides[axis];
  }
  std::vector<Copied> axes = copied_axes(layout, *box);
  if (axes.empty() || axes.front().from != 1 || axes.front().to != 1) axes.insert(axes.begin(), {});
  if (axes.size() > 2) return std::nullopt;
  axes.resize(2);
  const auto in_bytes = [element_bytes](std::int64_t elements) {
    return static_cast<std::uint64_t>(elements) * element_bytes;
  };
  ResidentPart part;
  part.buffer = region.buffer;
  part.from = in_bytes(region.base);
  part.row_bytes = in_bytes(axes[0].count);
  part.rows = static_cast<std::uint64_t>(axes[1].count);
  if (part.rows > 1) {
    part.from_stride = in_bytes(axes[1].from);
    part.to_stride = in_bytes(axes[1].to);
  }
  for (const std::uint64_t bytes : {part.from, part.row_bytes, part.from_stride, part.to_stride})
    if (bytes % resident_word != 0) return std::nullopt;
  return std::pair(part, -static_cast<std::int64_t>(in_bytes(first)));
}

}  // namespace lemma::backend
