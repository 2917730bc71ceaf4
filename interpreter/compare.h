#pragma once
// Comparison of a tensor with a reference, element by element.

#include <cstdint>
#include <optional>
#include <string>

#include "interpreter/tensor.h"

namespace lemma::interpreter {

/// An element passes if |actual - expected| <= absolute + relative * |expected|.
struct Tolerance {
  double absolute = 0;  // in units of the elements
  double relative = 0;  // a part of the expected element
};

/// How a tensor differs from its reference.
struct Comparison {
  bool equal = true;              // types and sizes agree, and every element passes
  std::string type_difference;    // if types or sizes differ; nothing else is filled in then
  double max_absolute_error = 0;  // over elements that are finite in both
  double max_relative_error = 0;  // over the same, where 0 is not expected
  /// The smallest factor by which both tolerances would have to be multiplied for all elements to
  /// pass; at most 1 if all pass. Infinite where no factor helps.
  double tolerance_factor = 0;
  std::int64_t failures = 0;                  // elements that do not pass
  std::optional<std::int64_t> first_failure;  // position in row-major order
  std::string description;                    // of the first failure, for people
};

/// Real elements within the tolerance; NaN equals NaN, infinities are equal by sign. Integers,
/// booleans and elements of the exact domains must be equal.
Comparison compare(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

}  // namespace lemma::interpreter
