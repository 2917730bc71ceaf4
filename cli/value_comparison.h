#pragma once
// Comparison of an output with the expected one, whatever kind of value it is.

#include "interpreter/compare.h"
#include "ir/run_time_value.h"

namespace lemma {

/// Elements of sequences are compared one by one. The description names the first that differs.
interpreter::Comparison compare_values(const RunTimeValue& actual, const RunTimeValue& expected,
                                       const interpreter::Tolerance& tolerance);

}  // namespace lemma
