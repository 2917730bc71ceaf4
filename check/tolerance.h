#pragma once
// How far the outputs of a result may be from those of the original.

#include <cstdint>
#include <optional>
#include <span>

#include "interpreter/compare.h"
#include "ir/graph.h"

namespace lemma {

struct SampledTolerance {
  double relative = 0, absolute = 0;
  bool of_largest =
      false;  // the relative one counts for the largest element of an output too, as an absolute one
  /// A part of the scale of an output, added to the absolute tolerance: elements may cancel. The scale is the largest
  /// element, but at most 8 times the median of those that are not 0, so that one huge element does not excuse the
  /// others.
  double rounding = 0;
  /// Whether no numbers were given: then the absolute one is a part of the scale, where that is below 1.
  bool knows_scale() const { return rounding > 0 || of_largest; }
};

/// f64: 1e-9 and 1e-10, f32: 1e-4 and 1e-5, each with 32 units of roundoff of the scale. f16 and bf16: 32 units, more
/// for a deep graph, of the largest element. Where a number is given it is that, of the element alone.
SampledTolerance tolerance_for(const Graph& original, std::optional<double> relative,
                               std::optional<double> absolute);

/// How far rounding was seen to move the elements of an output (check/rounding_spread.h).
struct RoundingSpread {
  double common = 0;       // that four of five elements do not exceed
  double largest = 0;      // of those that jump
  std::int64_t jumps = 0;  // elements that move much further than the common ones do
};

/// What another way of computing an output may differ by, absolutely: all elements by `common`, and so many by `jump`.
struct RoundingAllowance {
  double common = 0, jump = 0;
  std::int64_t jumps = 0;
};
/// Several times what was seen, because it was seen a few times only. Elements jump where rounding decides (quantisers,
/// comparisons); integers do nothing else. A jump is allowed once: it may be no further than it was seen to be.
RoundingAllowance allowance_for(DataType type, const RoundingSpread& spread);
/// What every real element may differ by beside that, as a part of itself.
double relative_allowance(DataType narrowest);

/// The tolerance for an output with these elements. Those that are not finite do not count.
interpreter::Tolerance tolerance_of_output(const SampledTolerance& tolerance,
                                           std::span<const double> expected);

/// 32 units of roundoff of the scale of an output, for a comparison with recorded outputs.
double rounding_of_scale(DataType type, std::span<const double> expected);

/// Half the distance from 1 to the next number of the type.
double unit_roundoff(DataType type);

/// f32 where there is no real value.
DataType narrowest_real_type(const Graph& graph);

}  // namespace lemma
