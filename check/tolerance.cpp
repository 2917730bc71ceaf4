#include "check/tolerance.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lemma {

namespace {

constexpr double least_units = 32;  // of roundoff

/// Operations on the longest way from an input to an output.
double depth_of(const Graph& graph) {
  std::vector<double> depths(graph.value_count(), 0);
  double deepest = 0;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    double depth = 0;
    for (const ValueId input : node.inputs)
      if (!input.is_none()) depth = std::max(depth, depths[input.v]);
    if (node.kind == NodeKind::operation) depth += 1;
    for (std::uint32_t k = 0; k < node.output_count; ++k) depths[node.output(k).v] = depth;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

/// The magnitudes of the elements that are finite and not 0.
std::vector<double> magnitudes_of(std::span<const double> elements) {
  std::vector<double> result;
  for (const double element : elements)
    if (std::isfinite(element) && element != 0) result.push_back(std::abs(element));
  return result;
}

/// The largest, but at most 8 times the median; 0 if there are none.
double scale_of(std::vector<double> magnitudes) {
  if (magnitudes.empty()) return 0;
  const double largest = *std::max_element(magnitudes.begin(), magnitudes.end());
  const auto median = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 2);
  std::nth_element(magnitudes.begin(), median, magnitudes.end());
  constexpr double most_medians = 8;
  return std::min(largest, most_medians * *median);
}

}  // namespace

double unit_roundoff(DataType type) {
  switch (type) {
    case DataType::f64: return 0x1p-53;
    case DataType::f16: return 0x1p-11;
    case DataType::bf16: return 0x1p-8;
    default: return 0x1p-24;
  }
}

DataType narrowest_real_type(const Graph& graph) {
  DataType narrowest = DataType::undefined;
  for (const NodeId id : graph.live_nodes())
    for (const TensorType& type : graph.output_types(graph.node(id))) {
      if (!is_real(type.data_type)) continue;
      if (narrowest == DataType::undefined ||
          unit_roundoff(type.data_type) > unit_roundoff(narrowest))
        narrowest = type.data_type;
    }
  return narrowest == DataType::undefined ? DataType::f32 : narrowest;
}

SampledTolerance tolerance_for(const Graph& original, std::optional<double> relative,
                               std::optional<double> absolute) {
  const DataType type = narrowest_real_type(original);
  SampledTolerance result;
  if (type == DataType::f16 || type == DataType::bf16) {
    const double units = std::max(least_units, 8 * std::sqrt(depth_of(original)));
    result = {std::min(0.25, units * unit_roundoff(type)), 1e-5, true, 0};
  } else {
    const double rounding = least_units * unit_roundoff(type);
    result = type == DataType::f64 ? SampledTolerance{1e-9, 1e-10, false, rounding}
                                   : SampledTolerance{1e-4, 1e-5, false, rounding};
  }
  if (relative || absolute) result.rounding = 0;
  if (relative) result.relative = *relative, result.of_largest = false;
  if (absolute) result.absolute = *absolute;
  return result;
}

RoundingAllowance allowance_for(DataType type, const RoundingSpread& spread) {
  constexpr double times = 8;           // the common movement of real elements
  constexpr double almost_twice = 1.5;  // one step of a quantiser, not two
  RoundingAllowance result;
  result.common = (is_real(type) ? times : almost_twice) * spread.common;
  result.jump = almost_twice * spread.largest;
  constexpr std::int64_t jumps_for_one = 4, more_jumps = 2;
  if (spread.jumps > 0) result.jumps = jumps_for_one * spread.jumps + more_jumps;
  return result;
}

double relative_allowance(DataType narrowest) {
  const bool is_half = narrowest == DataType::f16 || narrowest == DataType::bf16;
  return (is_half ? 32 : 64) * unit_roundoff(narrowest);
}

interpreter::Tolerance tolerance_of_output(const SampledTolerance& tolerance,
                                           std::span<const double> expected) {
  interpreter::Tolerance result{tolerance.absolute, tolerance.relative};
  std::vector<double> magnitudes = magnitudes_of(expected);
  if (magnitudes.empty()) return result;
  const double largest = *std::max_element(magnitudes.begin(), magnitudes.end());
  const double scale = scale_of(std::move(magnitudes));
  // A default is for outputs about 1; where they are smaller, it would hide all of them.
  if (tolerance.knows_scale()) result.absolute *= std::min(1.0, scale);
  result.absolute += tolerance.rounding * scale;
  if (tolerance.of_largest) result.absolute += tolerance.relative * largest;
  return result;
}

double rounding_of_scale(DataType type, std::span<const double> expected) {
  return least_units * unit_roundoff(type) * scale_of(magnitudes_of(expected));
}

}  // namespace lemma
