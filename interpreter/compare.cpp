#include "interpreter/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace lemma::interpreter {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// How many times the tolerance the error of one real element is.
double factor_of(double actual, double expected, const Tolerance& tolerance, Comparison& result) {
  if (std::isnan(actual) || std::isnan(expected))
    return std::isnan(actual) && std::isnan(expected) ? 0 : infinity;
  if (actual == expected) return 0;
  if (std::isinf(actual) || std::isinf(expected)) return infinity;
  const double error = std::abs(actual - expected);
  const double allowed = tolerance.absolute + tolerance.relative * std::abs(expected);
  result.max_absolute_error = std::max(result.max_absolute_error, error);
  if (expected != 0)
    result.max_relative_error = std::max(result.max_relative_error, error / std::abs(expected));
  return allowed > 0 ? error / allowed : infinity;
}

std::string position_text(std::int64_t position, const Sizes& sizes) {
  std::vector<std::int64_t> index(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    index[axis] = position % sizes[axis];
    position /= sizes[axis];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

template <typename T>
void compare_elements(const std::vector<T>& actual, const std::vector<T>& expected,
                      const Sizes& sizes, const Tolerance& tolerance, Comparison& result) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    double factor = 0;
    if constexpr (std::is_same_v<T, double>)
      factor = factor_of(actual[i], expected[i], tolerance, result);
    else
      factor = actual[i] == expected[i] ? 0 : infinity;
    result.tolerance_factor = std::max(result.tolerance_factor, factor);
    if (factor <= 1) continue;
    ++result.failures;
    if (result.first_failure) continue;
    result.first_failure = static_cast<std::int64_t>(i);
    result.description =
        fmt::format("element {} is {}, not {}", position_text(*result.first_failure, sizes),
                    actual[i], expected[i]);
  }
  result.equal = result.failures == 0;
}

}  // namespace

Comparison compare(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  Comparison result;
  if (!(actual.type() == expected.type()) || actual.domain() != expected.domain()) {
    result.equal = false;
    result.type_difference =
        fmt::format("the tensor is {} ({}), not {} ({})", text(actual.type()),
                    name(actual.domain()), text(expected.type()), name(expected.domain()));
    result.description = result.type_difference;
    return result;
  }
  const bool approximate = is_real(actual.data_type()) &&
                           (actual.domain() == Domain::native || actual.domain() == Domain::f64);
  if (approximate)
    compare_elements(actual.reals(), expected.reals(), actual.sizes(), tolerance, result);
  else
    compare_elements(actual.integers(), expected.integers(), actual.sizes(), tolerance, result);
  return result;
}

}  // namespace lemma::interpreter
