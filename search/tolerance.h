#pragma once
// How far the outputs of a result may be from those of the original.

#include <optional>
#include <span>

#include "interpreter/compare.h"
#include "ir/graph.h"

namespace lemma {

struct SampledTolerance {
  double relative = 0, absolute = 0;
  bool of_largest =
      false;  // the relative one counts for the largest element of an output too, as an absolute one
  /// Of the scale of an output, added to the absolute one: elements may cancel. The scale is the largest element, but
  /// at most 8 times the median of those that are not 0, so that one huge element does not excuse the others.
  double rounding = 0;
};

/// f64: 1e-9 and 1e-10, f32: 1e-4 and 1e-5, each with 32 units of roundoff of the scale. f16 and bf16: 32 units, more
/// for a deep graph, of the largest element. Where a number is given it is that, of the element alone.
SampledTolerance tolerance_for(const Graph& original, std::optional<double> relative,
                               std::optional<double> absolute);

/// For an output with these elements. Those that are not finite do not count.
interpreter::Tolerance tolerance_of_output(const SampledTolerance& tolerance,
                                           std::span<const double> expected);

/// Half the distance from 1 to the next number of the type.
double unit_roundoff(DataType type);

/// f32 where there is no real value.
DataType narrowest_real_type(const Graph& graph);

}  // namespace lemma
