// Constants, and the 16-bit floating-point conversions against an independent computation.

#include "ir/constant.h"

#include <bit>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace lemma {
namespace {

/// A binary floating-point format with an implicit leading bit, read by arithmetic alone.
struct Format {
  int exponent_bits, mantissa_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  double value(std::uint32_t bits) const {
    const int mantissa = static_cast<int>(bits & ((1U << mantissa_bits) - 1));
    const int exponent = static_cast<int>((bits >> mantissa_bits) & ((1U << exponent_bits) - 1));
    const double sign = ((bits >> (mantissa_bits + exponent_bits)) & 1U) != 0 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? std::nan("") : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias() - mantissa_bits);
  }
  /// The pattern of the nearest value, ties to even: by bisection over all non-negative patterns.
  std::uint16_t nearest(float value) const {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double target = std::fabs(static_cast<double>(value));
    const std::uint32_t infinity = ((1U << exponent_bits) - 1) << mantissa_bits;
    // Beyond the greatest value lies what the next exponent would give: infinity, for rounding.
    auto extended = [&](std::uint32_t bits) {
      return bits == infinity ? std::ldexp(1.0, bias() + 1) : this->value(bits);
    };
    std::uint32_t low = 0, high = infinity;  // extended(low) <= target < extended(high)
    if (target >= extended(infinity)) return static_cast<std::uint16_t>(sign | infinity);
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (extended(middle) <= target ? low : high) = middle;
    }
    const double below = target - extended(low), above = extended(high) - target;
    const bool up = below > above || (below == above && low % 2 == 1);
    return static_cast<std::uint16_t>(sign | (up ? high : low));
  }
};

constexpr Format f16_format{5, 10}, bf16_format{8, 7};

TEST(SmallFloats, all_patterns_widen_to_their_value) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    for (const bool half : {true, false}) {
      const double expected = (half ? f16_format : bf16_format).value(bits);
      const float widened = half ? f16_to_f32(pattern) : bf16_to_f32(pattern);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(widened)) << bits;
        ASSERT_TRUE(
            std::isnan(half ? f16_to_f32(f32_to_f16(widened)) : bf16_to_f32(f32_to_bf16(widened))));
      } else {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(widened)),
                  std::bit_cast<std::uint64_t>(expected))
            << bits;
        ASSERT_EQ(half ? f32_to_f16(widened) : f32_to_bf16(widened), pattern);
      }
      ASSERT_EQ(std::signbit(widened), bits >= 0x8000) << bits;
    }
  }
}

void expect_rounded(std::uint32_t bits) {
  const auto value = std::bit_cast<float>(bits);
  if (std::isnan(value)) {
    ASSERT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value))));
    ASSERT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(value))));
    return;
  }
  ASSERT_EQ(f32_to_f16(value), f16_format.nearest(value)) << std::hex << bits;
  ASSERT_EQ(f32_to_bf16(value), bf16_format.nearest(value)) << std::hex << bits;
}

TEST(SmallFloats, narrowing_rounds_to_nearest_even) {
  // Around every value of either format and every midpoint between two of them.
  for (std::uint32_t pattern = 0; pattern < 0x8000; ++pattern) {
    const auto half = std::bit_cast<std::uint32_t>(f16_to_f32(static_cast<std::uint16_t>(pattern)));
    const auto next =
        std::bit_cast<std::uint32_t>(f16_to_f32(static_cast<std::uint16_t>(pattern + 1)));
    const std::uint32_t middle = half + (next - half) / 2;
    for (const std::uint32_t sign : {0U, 0x80000000U})
      for (const std::uint32_t center : {half, middle, pattern << 16, (pattern << 16) | 0x8000U})
        for (const std::uint32_t bits : {center - 1, center, center + 1})
          if (bits <= 0x7fffffffU) expect_rounded(sign | bits);
    if (HasFatalFailure()) return;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200000 && !HasFatalFailure(); ++i)
    expect_rounded(static_cast<std::uint32_t>(random()));
}

std::span<const std::byte> as_bytes(const auto& values) { return std::as_bytes(std::span(values)); }

TEST(Constant, creation_checks_type_and_size) {
  const auto owner = std::make_shared<std::vector<float>>(6, 1.F);
  const auto bytes = as_bytes(*owner);
  const Dimension n = Dimension::symbol("N");
  EXPECT_TRUE(Constant::create({DataType::f32, Shape{2, 3}}, owner, bytes));
  EXPECT_FALSE(Constant::create({DataType::f32, Shape{2, 2}}, owner, bytes));
  EXPECT_FALSE(Constant::create({DataType::f32, Shape{n, 3}}, owner, bytes));
  EXPECT_FALSE(Constant::create({DataType::f32, Shape{-2, -3}}, owner, bytes));
  EXPECT_FALSE(Constant::create({DataType::f32, Shape{Dimension::invalid()}}, owner, bytes));
  EXPECT_FALSE(Constant::create({DataType::f32, {}}, owner, bytes));
  EXPECT_FALSE(Constant::create({DataType::string, Shape{24}}, owner, bytes));
  EXPECT_FALSE(Constant::create({DataType::undefined, Shape{24}}, owner, bytes));
  EXPECT_FALSE(Constant::create({DataType::f64, Shape{INT64_MAX, 4}}, owner, bytes));
  EXPECT_TRUE(Constant::create({DataType::f32, Shape{0, INT64_MAX, INT64_MAX}}, owner, {}));
  EXPECT_TRUE(Constant::create({DataType::u4, Shape{5}}, owner, bytes.first(3)));
  EXPECT_FALSE(Constant::create({DataType::u4, Shape{5}}, owner, bytes.first(2)));
}

TEST(Constant, shares_bytes_with_their_owner) {
  auto owner = std::make_shared<std::vector<float>>(6, 1.F);
  const auto constant = Constant::create({DataType::f32, Shape{6}}, owner, as_bytes(*owner));
  ASSERT_TRUE(constant);
  EXPECT_EQ(static_cast<const void*>(constant->bytes().data()), owner->data());
  const std::weak_ptr<void> alive = owner;
  owner.reset();
  EXPECT_FALSE(alive.expired());
  EXPECT_EQ(constant->reals(), std::vector<double>(6, 1.0));
}

template <typename T>
void expect_integers(DataType type, const std::vector<T>& values) {
  const Constant constant = Constant::of(type, {static_cast<std::int64_t>(values.size())}, values);
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  for (const T value : values) {
    integers.push_back(static_cast<std::int64_t>(value));
    reals.push_back(static_cast<double>(value));
  }
  EXPECT_EQ(constant.integers(), integers) << name(type);
  EXPECT_EQ(constant.reals(), reals) << name(type);
  EXPECT_EQ(constant.element_count(), values.size());
}

TEST(Constant, elements_of_every_computable_type) {
  expect_integers<std::uint8_t>(DataType::u8, {0, 255});
  expect_integers<std::uint8_t>(DataType::boolean, {0, 1});
  expect_integers<std::int8_t>(DataType::i8, {-128, 127});
  expect_integers<std::uint16_t>(DataType::u16, {0, 65535});
  expect_integers<std::int16_t>(DataType::i16, {-32768, 32767});
  expect_integers<std::uint32_t>(DataType::u32, {0, UINT32_MAX});
  expect_integers<std::int32_t>(DataType::i32, {INT32_MIN, INT32_MAX});
  expect_integers<std::uint64_t>(DataType::u64, {0, UINT64_MAX});
  expect_integers<std::int64_t>(DataType::i64, {INT64_MIN, INT64_MAX});
  using Bits = std::vector<std::uint16_t>;
  const std::vector<double> expected = {1.5, -INFINITY};
  EXPECT_EQ(Constant::of(DataType::f16, {2}, Bits{0x3e00, 0xfc00}).reals(), expected);
  EXPECT_EQ(Constant::of(DataType::bf16, {2}, Bits{0x3fc0, 0xff80}).reals(), expected);
  EXPECT_EQ(Constant::of(DataType::f32, {2}, std::vector<float>{1.5F, -INFINITY}).reals(),
            expected);
  EXPECT_EQ(Constant::of(DataType::f64, {2}, std::vector<double>{1.5, -INFINITY}).reals(),
            expected);
  EXPECT_TRUE(Constant::scalar_f32(1).integers().empty());
  EXPECT_EQ(Constant::of_integers({3, -4}).integers(), (std::vector<std::int64_t>{3, -4}));
}

TEST(Constant, digests_are_fixed) {
  // Written to files: they may not change from run to run or version to version.
  EXPECT_EQ(Constant::of_integers({1, 2, 3}).digest(), Constant::of_integers({1, 2, 3}).digest());
  EXPECT_NE(Constant::of_integers({1, 2, 3}).digest(), Constant::of_integers({1, 3, 2}).digest());
  EXPECT_EQ(Constant::of_integers({1, 2, 3}).digest(), 7897878504238933766ULL);
}

TEST(Constant, empty_ones_are_equal) {
  const Constant a = Constant::of_integers({}), b = Constant::of_integers({});
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_EQ(a.element_count(), 0U);
  EXPECT_FALSE(a == Constant::of(DataType::i64, {0, 1}, std::vector<std::int64_t>{}));
}

}  // namespace
}  // namespace lemma
