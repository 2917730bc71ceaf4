#include "engines/value_comparison.h"

#include <algorithm>

#include <fmt/format.h>

#include "check/tolerance.h"

namespace lemma {

namespace {

using interpreter::Comparison;
using interpreter::Tensor;
using interpreter::Tolerance;

/// bfloat16 has steps of 2^-7 at most, relatively: a tolerance below one step would forbid every
/// other way of rounding. An exact comparison stays exact.
Tolerance tolerance_for(const Tensor& expected, const ValueTolerance& tolerance) {
  Tolerance result = tolerance;
  if (expected.data_type() == DataType::bf16 && tolerance.relative > 0)
    result.relative = std::max(result.relative, 0x1p-7);
  if (tolerance.knows_scale && is_real(expected.data_type()))
    result.absolute += rounding_of_scale(expected.data_type(), expected.reals());
  return result;
}

Comparison other_kind(const RunTimeValue& actual, const RunTimeValue& expected) {
  Comparison result;
  result.equal = false;
  result.type_difference = fmt::format("it is {}, not {}", text(actual), text(expected));
  result.description = result.type_difference;
  return result;
}

Comparison compare_strings(const RunTimeValue& actual, const RunTimeValue& expected) {
  const Strings &a = *actual.strings(), &b = *expected.strings();
  if (a.sizes != b.sizes) return other_kind(actual, expected);
  Comparison result;
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    if (a.elements[i] == b.elements[i]) continue;
    ++result.failures;
    if (result.first_failure) continue;
    result.first_failure = static_cast<std::int64_t>(i);
    result.description =
        fmt::format("element {} is '{}', not '{}'", i, a.elements[i], b.elements[i]);
  }
  result.equal = result.failures == 0;
  return result;
}

void join(Comparison& all, const Comparison& element, std::size_t position) {
  all.max_absolute_error = std::max(all.max_absolute_error, element.max_absolute_error);
  all.max_relative_error = std::max(all.max_relative_error, element.max_relative_error);
  all.tolerance_factor = std::max(all.tolerance_factor, element.tolerance_factor);
  all.failures += element.failures;
  if (element.equal || !all.equal) return;
  all.equal = false;
  all.type_difference = element.type_difference;
  all.first_failure = element.first_failure;
  all.description = fmt::format("in element {}: {}", position, element.description);
}

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion): values are nested as deeply as files can say.
Comparison compare_values(const RunTimeValue& actual, const RunTimeValue& expected,
                          const ValueTolerance& tolerance) {
  if (actual.tensor() != nullptr && expected.tensor() != nullptr) {
    const Tensor wanted = Tensor::of(*expected.tensor());
    return interpreter::compare(Tensor::of(*actual.tensor()), wanted,
                                tolerance_for(wanted, tolerance));
  }
  if (actual.strings() != nullptr && expected.strings() != nullptr)
    return compare_strings(actual, expected);
  const auto *a = actual.sequence(), *b = expected.sequence();
  if (a != nullptr && b != nullptr && a->size() == b->size()) {
    Comparison all;
    for (std::size_t i = 0; i < a->size(); ++i)
      join(all, compare_values((*a)[i], (*b)[i], tolerance), i);
    return all;
  }
  if (actual.is_nothing() && expected.is_nothing()) return {};
  return other_kind(actual, expected);
}

}  // namespace lemma
