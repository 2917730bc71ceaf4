#include "partial/region.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace lemma::partial {
namespace {

using generator::SizedMask;

/// [begin, end) of the indices of one axis at one choice of sizes.
struct Run {
  std::int64_t begin = 0, end = 0;
};
/// Runs of the indices that are left, by axis.
using Runs = std::vector<std::vector<Run>>;

constexpr std::size_t fewest_masks = 3;

// ---- One mask ---------------------------------------------------------------------------------

/// Which axes lose rows, a bit each.
using AxisSet = unsigned;

/// Takes out rows of some axes until the rest of a mask agrees.
class RowCover {
 public:
  RowCover(const SizedMask& mask, AxisSet axes) : mask_(mask), axes_(axes) {
    for (const std::int64_t size : mask.shape) left_.emplace_back(size, 1);
  }

  Runs run() {
    while (const auto row = worst_row()) left_[row->first][row->second] = 0;
    Runs result;
    for (const std::vector<char>& axis : left_) {
      std::vector<Run>& runs = result.emplace_back();
      for (std::size_t i = 0; i < axis.size(); ++i) {
        if (axis[i] == 0) continue;
        const auto at = static_cast<std::int64_t>(i);
        if (runs.empty() || runs.back().end != at) runs.push_back({at, at});
        runs.back().end = at + 1;
      }
    }
    return result;
  }

 private:
  /// An axis and an index: the row with the largest share of elements that disagree, of the last axis
  /// if there are several; nothing if all agree.
  std::optional<std::pair<std::size_t, std::size_t>> worst_row() const {
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> counts;  // disagreeing, all
    for (const std::int64_t size : mask_.shape) counts.emplace_back(size);
    for_each_left([&](const std::vector<std::size_t>& index, bool agrees) {
      for (std::size_t axis = 0; axis < index.size(); ++axis) {
        counts[axis][index[axis]].first += agrees ? 0 : 1;
        ++counts[axis][index[axis]].second;
      }
    });
    std::optional<std::pair<std::size_t, std::size_t>> worst;
    double largest = 0;
    for (std::size_t axis = counts.size(); axis-- > 0;)
      for (std::size_t i = 0; i < counts[axis].size(); ++i) {
        if ((axes_ >> axis) % 2 == 0) continue;
        const auto& [disagreeing, all] = counts[axis][i];
        if (disagreeing == 0) continue;
        const double share = static_cast<double>(disagreeing) / static_cast<double>(all);
        if (share > largest) {
          largest = share;
          worst = {axis, i};
        }
      }
    return worst;
  }

  template <typename Visit>
  void for_each_left(const Visit& visit) const {
    std::vector<std::size_t> index(mask_.shape.size(), 0);
    for (const char agrees : mask_.agrees) {
      bool is_left = true;
      for (std::size_t axis = 0; axis < index.size(); ++axis)
        is_left = is_left && left_[axis][index[axis]] != 0;
      if (is_left) visit(index, agrees != 0);
      for (std::size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < left_[axis].size()) break;
        index[axis] = 0;
      }
    }
  }

  const SizedMask& mask_;
  AxisSet axes_;
  std::vector<std::vector<char>> left_;  // by axis and index
};

// ---- Bounds -----------------------------------------------------------------------------------

std::optional<std::int64_t> value_at(const Dimension& size, const SizedMask& mask) {
  return substitute(size, mask.sizes).constant();
}

/// A bound of an interval at one choice of sizes.
struct Observed {
  const SizedMask* mask = nullptr;
  std::int64_t bound = 0;
};

/// An expression for a bound, and how many indices it leaves out at all choices of sizes together.
struct FittedBound {
  Dimension expression;
  std::int64_t loss = 0;
};

/// Finds an expression for a bound: at least what was observed for a beginning, at most that for an end. Of those that are
/// tried the one that leaves out the fewest indices.
class BoundFit {
 public:
  BoundFit(const std::vector<Observed>& observed, bool is_end)
      : observed_(observed), is_end_(is_end) {}

  /// A part once, with the number that fits best.
  void try_part(const Dimension& part, std::int64_t times) {
    constexpr std::int64_t most_offset = 4;
    std::optional<std::int64_t> offset;
    std::vector<std::int64_t> values;
    for (const Observed& choice : observed_) {
      const auto value = value_at(part, *choice.mask);
      if (!value) return;
      values.push_back(*value * times);
      const std::int64_t wanted = choice.bound - values.back();
      if (!offset) offset = wanted;
      offset = is_end_ ? std::min(*offset, wanted) : std::max(*offset, wanted);
    }
    if (!offset || *offset < -most_offset || *offset > most_offset) return;
    std::int64_t loss = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      loss += std::abs(observed_[i].bound - values[i] - *offset);
    if (!best_ || loss < best_->loss) best_ = {part * times + *offset, loss};
  }

  bool leaves_nothing_out() const { return best_ && best_->loss == 0; }
  const std::optional<FittedBound>& best() const { return best_; }

 private:
  const std::vector<Observed>& observed_;
  bool is_end_;
  std::optional<FittedBound> best_;
};

/// The expression that leaves out the fewest indices, the simplest kind of those that leave out none: a number, the extent
/// and a number, or a variable or a product of two of them, once or a few times, with a number.
std::optional<Dimension> fitted_bound(const std::vector<Observed>& observed,
                                      const Dimension& extent, bool is_end) {
  constexpr std::int64_t most_times = 3;
  BoundFit fit(observed, is_end);
  fit.try_part(0, 1);
  if (!fit.leaves_nothing_out()) fit.try_part(extent, 1);
  std::vector<Dimension> variables;
  for (const auto& [name, size] : observed.front().mask->sizes)
    variables.push_back(Dimension::symbol(name));
  for (std::size_t i = 0; i < variables.size() && !fit.leaves_nothing_out(); ++i)
    for (std::int64_t times = 1; times <= most_times; ++times) {
      fit.try_part(variables[i], times);
      fit.try_part(extent - variables[i] * times, 1);
      for (std::size_t k = i; k < variables.size(); ++k)
        fit.try_part(variables[i] * variables[k], times);
    }
  if (!fit.best()) return std::nullopt;
  return fit.best()->expression;
}

/// The indices of a box at one choice of sizes; nothing if it has no elements there.
std::optional<std::vector<Run>> runs_of(const SizedMask& mask, const Box& box) {
  std::vector<Run> runs;
  for (std::size_t axis = 0; axis < box.size(); ++axis) {
    const auto begin = value_at(box[axis].begin, mask), end = value_at(box[axis].end, mask);
    if (!begin || !end || *begin < 0 || *end > mask.shape[axis] || *begin >= *end)
      return std::nullopt;
    runs.push_back({*begin, *end});
  }
  return runs;
}

/// The share of all elements that the region has, added up over the choices of sizes.
double share_of(const std::vector<SizedMask>& masks, const Region& region) {
  double result = 0;
  for (const SizedMask& mask : masks)
    for (const Box& box : boxes_of(region)) {
      const auto runs = runs_of(mask, box);
      if (!runs) continue;
      double share = 1;
      for (std::size_t axis = 0; axis < runs->size(); ++axis)
        share *= static_cast<double>((*runs)[axis].end - (*runs)[axis].begin) /
                 static_cast<double>(mask.shape[axis]);
      result += share;
    }
  return result;
}

class RegionFit {
 public:
  RegionFit(const std::vector<SizedMask>& masks, const Shape& extents, AxisSet axes)
      : masks_(masks), extents_(extents) {
    for (const SizedMask& mask : masks) {
      runs_.push_back(RowCover(mask, axes).run());
      tells_.push_back(std::count(mask.agrees.begin(), mask.agrees.end(), 0) > 0);
    }
  }

  std::optional<Region> run() const {
    Region region;
    region.extents = extents_;
    bool is_everything = true;
    for (std::size_t axis = 0; axis < extents_.size(); ++axis) {
      auto intervals = intervals_of(axis);
      if (!intervals) return std::nullopt;
      is_everything =
          is_everything && intervals->size() == 1 && is_whole(intervals->front(), extents_[axis]);
      region.axes.push_back(std::move(*intervals));
    }
    if (is_everything || !agrees_everywhere(region)) return std::nullopt;
    return region;
  }

 private:
  /// The most intervals that the axis has at enough choices of sizes.
  std::size_t interval_count(std::size_t axis) const {
    std::map<std::size_t, std::size_t> counts;
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (tells_[i]) ++counts[runs_[i][axis].size()];
    std::size_t result = 0;
    for (const auto& [count, choices] : counts)
      if (choices >= fewest_masks) result = count;
    return result;
  }

  std::optional<std::vector<Interval>> intervals_of(std::size_t axis) const {
    const std::size_t count = interval_count(axis);
    if (count == 0) return std::nullopt;
    std::vector<Interval> result;
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<Observed> begins, ends;
      for (std::size_t i = 0; i < masks_.size(); ++i) {
        if (!tells_[i] || runs_[i][axis].size() != count) continue;
        begins.push_back({&masks_[i], runs_[i][axis][k].begin});
        ends.push_back({&masks_[i], runs_[i][axis][k].end});
      }
      auto begin = fitted_bound(begins, extents_[axis], false);
      auto end = fitted_bound(ends, extents_[axis], true);
      if (!begin || !end) return std::nullopt;
      result.push_back({std::move(*begin), std::move(*end)});
    }
    return result;
  }

  /// No element of the region disagrees at any choice of sizes, and at some choices it has elements.
  bool agrees_everywhere(const Region& region) const {
    std::size_t with_elements = 0;
    for (const SizedMask& mask : masks_)
      for (const Box& box : boxes_of(region)) {
        const auto agrees = agrees_in(mask, box);
        if (!agrees) continue;  // the sizes are too small for it
        if (!*agrees) return false;
        ++with_elements;
      }
    return with_elements >= fewest_masks;
  }

  /// Nothing if the box has no elements there.
  static std::optional<bool> agrees_in(const SizedMask& mask, const Box& box) {
    const auto left = runs_of(mask, box);
    if (!left) return std::nullopt;
    const std::vector<Run>& runs = *left;
    for (std::size_t element = 0; element < mask.agrees.size(); ++element) {
      if (mask.agrees[element] != 0) continue;
      auto rest = static_cast<std::int64_t>(element);
      bool is_inside = true;
      for (std::size_t axis = box.size(); axis-- > 0;) {
        const std::int64_t index = rest % mask.shape[axis];
        rest /= mask.shape[axis];
        is_inside = is_inside && runs[axis].begin <= index && index < runs[axis].end;
      }
      if (is_inside) return false;
    }
    return true;
  }

  const std::vector<SizedMask>& masks_;
  const Shape& extents_;
  std::vector<Runs> runs_;  // by mask
  /// By mask: some elements disagree. At sizes where all agree by chance, such as a single image, nothing is learned of bounds.
  std::vector<bool> tells_;
};

}  // namespace

std::vector<Box> boxes_of(const Region& region) {
  std::vector<Box> result = {{}};
  for (const std::vector<Interval>& axis : region.axes) {
    std::vector<Box> longer;
    for (const Box& box : result)
      for (const Interval& interval : axis) {
        longer.push_back(box);
        longer.back().push_back(interval);
      }
    result = std::move(longer);
  }
  return result;
}

bool is_whole(const Interval& interval, const Dimension& extent) {
  return interval.begin.is(0) && interval.end == extent;
}

std::string text(const Box& box) {
  std::string result;
  for (const Interval& interval : box)
    result += fmt::format("{}[{}, {})", result.empty() ? "" : " x ", interval.begin.text(),
                          interval.end.text());
  return result;
}

std::optional<Region> fitted_region(const std::vector<SizedMask>& masks, const Shape& extents) {
  if (masks.size() < fewest_masks) return std::nullopt;
  std::optional<Region> best;
  double largest = 0;
  for (AxisSet axes = 1; axes < (1U << extents.size()); ++axes) {
    auto region = RegionFit(masks, extents, axes).run();
    if (!region) continue;
    // Another axis that is cut has to be worth it.
    constexpr double worth = 0.95;
    const double share = share_of(masks, *region) * std::pow(worth, std::popcount(axes));
    if (share <= largest) continue;
    largest = share;
    best = std::move(region);
  }
  return best;
}

}  // namespace lemma::partial
