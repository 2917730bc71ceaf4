#include "backend/region_box.h"

namespace lemma::backend {

std::optional<RegionBox> box_of_region(const Region& region,
                                       const std::vector<std::int64_t>& extents) {
  RegionBox box(extents.size());
  std::int64_t rest = region.base;
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  for (std::size_t i = 0; i < extents.size(); ++i) {
    box[i] = {rest / strides[i], rest / strides[i] + 1};
    rest %= strides[i];
  }
  auto axis = region.axes.rbegin();
  std::int64_t extent = 0;  // of what is left of the region's axis
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (extent == 0 && axis != region.axes.rend() && axis->stride == strides[i])
      extent = (axis++)->extent;
    if (extent == 0) continue;
    if (box[i].first + extent <= extents[i]) {
      box[i].second = box[i].first + extent;
      extent = 0;
    } else {
      if (box[i].first != 0 || extent % extents[i] != 0) return std::nullopt;
      box[i].second = extents[i];
      extent /= extents[i];
    }
  }
  if (extent != 0 || axis != region.axes.rend()) return std::nullopt;
  return box;
}

}  // namespace lemma::backend
