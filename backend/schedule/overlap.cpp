#include <algorithm>

#include "backend/schedule/schedule.h"

namespace lemma::backend {

namespace {

/// First and last index along each axis of `strides`, which descend; nothing where the region is no box of such
/// a tensor.
std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> indices(
    const Region& region, const std::vector<std::int64_t>& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  std::int64_t rest = region.base;
  auto axis = region.axes.begin();
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::int64_t first = rest / strides[i];
    rest %= strides[i];
    std::int64_t extent = 1;
    if (axis != region.axes.end() && axis->stride >= strides[i]) {
      if (axis->stride != strides[i]) return std::nullopt;
      extent = axis->extent;
      ++axis;
    }
    // Along the other axes it must stay within one step of the one before.
    if (i > 0 && (first + extent) * strides[i] > strides[i - 1]) return std::nullopt;
    result.emplace_back(first, first + extent - 1);
  }
  if (axis != region.axes.end()) return std::nullopt;
  return result;
}

}  // namespace

bool may_overlap(const Region& a, const Region& b) {
  if (a.buffer != b.buffer || a.last() < b.base || b.last() < a.base) return false;
  std::vector<std::int64_t> strides = {1};
  for (const Region* region : {&a, &b})
    for (const Region::Axis& axis : region->axes) strides.push_back(axis.stride);
  std::sort(strides.rbegin(), strides.rend());
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  const auto x = indices(a, strides), y = indices(b, strides);
  if (!x || !y) return true;
  for (std::size_t i = 0; i < strides.size(); ++i)
    if ((*x)[i].second < (*y)[i].first || (*y)[i].second < (*x)[i].first) return false;
  return true;
}

}  // namespace lemma::backend
