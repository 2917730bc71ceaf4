#pragma once
// Comparison of an output with the expected one, whatever kind of value it is.

#include "interpreter/compare.h"
#include "ir/run_time_value.h"

namespace lemma {

/// What real elements may differ by.
struct ValueTolerance : interpreter::Tolerance {
  /// Whether elements may differ also by some units of roundoff of the scale of an output
  /// (check/tolerance.h): its elements may cancel.
  bool knows_scale = false;
};

/// Elements of sequences are compared one by one. The description names the first that differs.
interpreter::Comparison compare_values(const RunTimeValue& actual, const RunTimeValue& expected,
                                       const ValueTolerance& tolerance);

}  // namespace lemma
