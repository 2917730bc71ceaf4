// The functions of emitted programs against those of the standard library in f64.

#include "backend/emit/parts/fast_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

/// The greatest error over floats of all sizes, in units of the last place of the exact result.
template <typename Function, typename Exact>
double worst_error(const Function& function, const Exact& exact) {
  constexpr std::uint64_t step = 997;  // prime, so that all exponents and mantissas occur
  double worst = 0;
  for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += step) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const double want = exact(static_cast<double>(x));
    const float got = function(x), rounded = static_cast<float>(want);
    if (std::isnan(want) || std::isinf(rounded) || std::isinf(got)) {
      // Results near the greatest float may be rounded up to infinity.
      const bool is_same = std::isnan(want) ? std::isnan(got) : std::abs(want) > 3.4028e38;
      if (!is_same) return std::numeric_limits<double>::infinity();
      continue;
    }
    const double unit = std::nextafter(std::abs(rounded), std::numeric_limits<float>::infinity()) -
                        std::abs(rounded);
    worst = std::max(worst, std::abs(static_cast<double>(got) - want) / unit);
  }
  return worst;
}

TEST(FastFunctions, are_near_the_exact_ones) {
  EXPECT_LT(worst_error([](float x) { return fast::exp(x); }, [](double x) { return std::exp(x); }),
            2.5);
  EXPECT_LT(
      worst_error([](float x) { return fast::tanh(x); }, [](double x) { return std::tanh(x); }), 3);
  EXPECT_LT(worst_error([](float x) { return fast::erf(x); }, [](double x) { return std::erf(x); }),
            2.5);
}

TEST(FastFunctions, of_angles_and_logarithms_are_near_the_exact_ones) {
  EXPECT_LT(worst_error([](float x) { return fast::sin(x); }, [](double x) { return std::sin(x); }),
            2.5);
  EXPECT_LT(worst_error([](float x) { return fast::cos(x); }, [](double x) { return std::cos(x); }),
            2.5);
  EXPECT_LT(worst_error([](float x) { return fast::log(x); }, [](double x) { return std::log(x); }),
            2.5);
  EXPECT_LT(
      worst_error([](float x) { return fast::atan(x); }, [](double x) { return std::atan(x); }),
      2.5);
}

TEST(FastFunctions, of_inverse_and_hyperbolic_functions_are_near_the_exact_ones) {
  const auto expect_near = [](float (*function)(float), double (*exact)(double), double most) {
    EXPECT_LT(worst_error(function, exact), most);
  };
  expect_near(fast::tan, std::tan, 3.5);
  expect_near(fast::asin, std::asin, 3.5);
  expect_near(fast::acos, std::acos, 3.5);
  expect_near(fast::sinh, std::sinh, 3.5);
  expect_near(fast::cosh, std::cosh, 3.5);
  expect_near(fast::asinh, std::asinh, 3.5);
  expect_near(fast::acosh, std::acosh, 3.5);
  expect_near(fast::atanh, std::atanh, 3.5);
}

TEST(FastFunctions, of_inverse_and_hyperbolic_functions_have_the_limits_of_the_exact_ones) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto function : {fast::tan, fast::asin, fast::acos, fast::sinh, fast::cosh,
                              fast::asinh, fast::acosh, fast::atanh})
    EXPECT_TRUE(std::isnan(function(nan)));
  EXPECT_TRUE(std::isnan(fast::tan(infinity)));
  EXPECT_TRUE(std::isnan(fast::asin(1.5F)));
  EXPECT_TRUE(std::isnan(fast::acos(-1.5F)));
  EXPECT_TRUE(std::isnan(fast::acosh(0.5F)));
  EXPECT_TRUE(std::isnan(fast::acosh(-infinity)));
  EXPECT_TRUE(std::isnan(fast::atanh(1.5F)));
  EXPECT_EQ(fast::acos(1.0F), 0.0F);
  EXPECT_EQ(fast::acosh(1.0F), 0.0F);
  EXPECT_EQ(fast::acosh(infinity), infinity);
  EXPECT_EQ(fast::cosh(-infinity), infinity);
  for (const float sign : {1.0F, -1.0F}) {
    EXPECT_EQ(fast::sinh(sign * infinity), sign * infinity);
    EXPECT_EQ(fast::asinh(sign * infinity), sign * infinity);
    EXPECT_EQ(fast::atanh(sign), sign * infinity);
    for (const auto function : {fast::tan, fast::asin, fast::sinh, fast::asinh, fast::atanh}) {
      EXPECT_EQ(function(sign * 0.0F), 0.0F);
      EXPECT_EQ(std::signbit(function(sign * 0.0F)), sign < 0);
    }
  }
}

TEST(FastFunctions, of_angles_and_logarithms_have_the_limits_of_the_exact_ones) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float odd : {infinity, -infinity, nan}) {
    EXPECT_TRUE(std::isnan(fast::sin(odd)));
    EXPECT_TRUE(std::isnan(fast::cos(odd)));
  }
  EXPECT_TRUE(std::isnan(fast::log(nan)));
  EXPECT_TRUE(std::isnan(fast::log(-infinity)));
  EXPECT_TRUE(std::isnan(fast::log(-1.0F)));
  EXPECT_EQ(fast::log(infinity), infinity);
  EXPECT_EQ(fast::log(0.0F), -infinity);
  EXPECT_EQ(fast::log(-0.0F), -infinity);
  EXPECT_EQ(fast::log(1.0F), 0.0F);
  EXPECT_TRUE(std::isnan(fast::atan(nan)));
  EXPECT_EQ(fast::cos(0.0F), 1.0F);
  for (const float sign : {1.0F, -1.0F}) {
    EXPECT_EQ(fast::atan(sign * infinity), std::atan(sign * infinity));
    EXPECT_EQ(std::signbit(fast::atan(sign * 0.0F)), sign < 0);
    EXPECT_EQ(std::signbit(fast::sin(sign * 0.0F)), sign < 0);
    EXPECT_EQ(fast::sin(sign * 0.0F), 0.0F);
  }
}

TEST(FastFunctions, have_the_limits_of_the_exact_ones) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(fast::exp(infinity), infinity);
  EXPECT_EQ(fast::exp(-infinity), 0.0F);
  EXPECT_EQ(fast::exp(0.0F), 1.0F);
  EXPECT_TRUE(std::isnan(fast::exp(nan)));
  for (const float sign : {1.0F, -1.0F}) {
    EXPECT_EQ(fast::tanh(sign * infinity), sign);
    EXPECT_EQ(fast::erf(sign * infinity), sign);
    EXPECT_EQ(std::signbit(fast::tanh(sign * 0.0F)), sign < 0);
    EXPECT_EQ(std::signbit(fast::erf(sign * 0.0F)), sign < 0);
  }
  EXPECT_TRUE(std::isnan(fast::tanh(nan)));
  EXPECT_TRUE(std::isnan(fast::erf(nan)));
}

}  // namespace
