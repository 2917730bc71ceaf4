#pragma once
// Where in the input the output elements of Resize lie, exactly: as affine functions of the output
// position with integer coefficients over a common denominator.

#include <vector>

#include "operators/fraction.h"
#include "operators/sizes.h"

namespace lemma::operators {

/// One axis of a Resize.
struct ResizedAxis {
  Dimension input, output;               // sizes
  Dimension numerator, denominator = 1;  // scale factor
  /// Size of the output before rounding, which some modes use.
  Dimension length, length_denominator = 1;
  Fraction roi_begin = {0, 1}, roi_end = {1, 1};

  bool is_scaled() const { return !(numerator == denominator); }
};

/// The axes of an application with normalized attributes.
Result<std::vector<ResizedAxis>> resized_axes(const Instance& instance);

/// (slope * o + offset) / denominator for output position o; the denominator is positive.
struct Coordinate {
  Dimension slope, offset, denominator = 1;
  /// pytorch_half_pixel: 0 if the output has one element only. Set if that is not known yet.
  bool zero_if_single = false;

  bool is_identity() const { return slope == denominator && offset.is(0); }
};

/// The coordinate for a known coordinate_transformation_mode.
Result<Coordinate> coordinate(const ResizedAxis& axis, std::string_view mode);

/// slope * o + offset.
Expression scaled_position(DefinitionBuilder& builder, const ResizedAxis& axis,
                           const Coordinate& at, Expression o);

/// The input position that a nearest_mode chooses, inside the input.
Expression nearest_position(DefinitionBuilder& builder, const ResizedAxis& axis,
                            const Coordinate& at, std::string_view mode, Expression o);

/// The position inside the input that is nearest to an arbitrary one.
Expression clamped(DefinitionBuilder& builder, Expression position, const Dimension& size);

}  // namespace lemma::operators
