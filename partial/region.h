#pragma once
// The part of an output on which two terms agree: boxes whose bounds are given by sizes.
//
// A mask is fitted by a product of unions of intervals, one union for each axis. The rows (of some of the axes) with the
// largest shares of elements that disagree are left out one after the other, until the rest agrees. What remains of
// an axis are intervals. All sets of axes are tried, and the largest region is taken. Their bounds are expressed by the sizes of the rule so that at no choice of sizes the region has an
// element that disagrees, and so that it is as large as that allows. Nothing is proved here.

#include <optional>
#include <vector>

#include "generator/agreement.h"
#include "ir/dimension.h"

namespace lemma::partial {

/// The indices from `begin` on, below `end`.
struct Interval {
  Dimension begin, end;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// By axis of the output: disjoint, ascending. The region is the product of the axes' unions.
struct Region {
  Shape extents;
  std::vector<std::vector<Interval>> axes;
  friend bool operator==(const Region&, const Region&) = default;
};

/// The whole of one interval of each axis.
using Box = std::vector<Interval>;
std::vector<Box> boxes_of(const Region& region);
/// Whether the interval is all of the axis.
bool is_whole(const Interval& interval, const Dimension& extent);
/// "[0, n0) x [1, n3 - 1)"
std::string text(const Box& box);

/// The region of masks at three or more choices of sizes; nothing if no such region is seen, or if it is everything.
/// `extents` is the shape of the output over the variables of the rule.
std::optional<Region> fitted_region(const std::vector<generator::SizedMask>& masks,
                                    const Shape& extents);

}  // namespace lemma::partial
