// Conversions to and from types of few bits, compared with a search over all numbers of the type.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "interpreter/run.h"
#include "ir/graph.h"

namespace lemma {
namespace {

using interpreter::Tensor;

Result<std::vector<Tensor>> apply(std::string_view name, const std::vector<Tensor>& inputs,
                                  Attributes attributes) {
  Graph graph;
  std::vector<ValueId> values;
  std::vector<interpreter::NamedTensor> given;
  for (const Tensor& input : inputs) {
    given.push_back({"x" + std::to_string(given.size()), input});
    values.push_back(*graph.add_input(given.back().name, input.type()));
  }
  LEMMA_ASSIGN_OR_RETURN(const NodeId node, graph.add_operation(operator_named(name), values,
                                                                std::move(attributes), 1));
  EXPECT_TRUE(graph.add_output("y", graph.node(node).output()).has_value());
  return interpreter::run(graph, given, {});
}

struct FloatType {
  DataType type;
  int exponent_bits, mantissa_bits, bias;
  std::vector<int> nan;
  std::optional<int> infinity;
};

const std::vector<FloatType> float_types = {
    {DataType::f8e4m3fn, 4, 3, 7, {0x7f, 0xff}, std::nullopt},
    {DataType::f8e4m3fnuz, 4, 3, 8, {0x80}, std::nullopt},
    {DataType::f8e5m2, 5, 2, 15, {0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff}, 0x7c},
    {DataType::f8e5m2fnuz, 5, 2, 16, {0x80}, std::nullopt},
    {DataType::f4e2m1, 2, 1, 1, {}, std::nullopt},
};

double number_of(const FloatType& format, int code) {
  for (const int nan : format.nan)
    if (code == nan) return std::numeric_limits<double>::quiet_NaN();
  const int magnitude_bits = format.exponent_bits + format.mantissa_bits;
  const double sign = (code >> magnitude_bits) != 0 ? -1 : 1;
  const int magnitude = code & ((1 << magnitude_bits) - 1);
  if (format.infinity && magnitude == *format.infinity)
    return sign * std::numeric_limits<double>::infinity();
  const int exponent = magnitude >> format.mantissa_bits;
  const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
  return sign * std::ldexp(whole, std::max(exponent, 1) - format.bias - format.mantissa_bits);
}

/// The nearest finite number, of two the one with the even code; saturated.
double nearest(const FloatType& format, double x) {
  double largest = 0;
  for (int code = 0; code < 1 << (format.exponent_bits + format.mantissa_bits); ++code)
    if (const double value = number_of(format, code); std::isfinite(value))
      largest = std::max(largest, value);
  const double magnitude = std::min(std::abs(x), largest);
  std::optional<int> best;
  for (int code = 0; code < 1 << (format.exponent_bits + format.mantissa_bits); ++code) {
    const double value = number_of(format, code);
    if (!std::isfinite(value)) continue;
    if (!best) best = code;
    const double error = std::abs(value - magnitude);
    const double least = std::abs(number_of(format, *best) - magnitude);
    if (error < least || (error == least && code % 2 == 0)) best = code;
  }
  return std::copysign(number_of(format, *best), x);
}

Tensor cast(const Tensor& x, DataType to) {
  const auto result = apply("Cast", {x}, {{"to", to}});
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
  return result->front();
}

TEST(NarrowTypes, AllCodesHaveTheirNumbers) {
  for (const FloatType& format : float_types) {
    std::vector<std::int64_t> codes(std::size_t{1} << bits(format.type));
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int64_t>(i);
    const auto size = static_cast<std::int64_t>(codes.size());
    const Tensor all = Tensor::from_integers(format.type, {size}, codes);
    for (const DataType wide : {DataType::f32, DataType::f64, DataType::f16, DataType::bf16}) {
      if (wide == DataType::f16 && format.type == DataType::f8e5m2fnuz) continue;  // subnormal
      const std::vector<double> numbers = cast(all, wide).reals();
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const double expected = number_of(format, static_cast<int>(i));
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(numbers[i])) << name(format.type) << " " << i;
        } else {
          EXPECT_EQ(numbers[i], expected) << name(format.type) << " " << i << " " << name(wide);
        }
      }
      // And back; numbers that have no sign of 0 or several NaN aside.
      const std::vector<std::int64_t> back = cast(cast(all, wide), format.type).integers();
      for (std::size_t i = 0; i < codes.size(); ++i)
        if (std::isfinite(number_of(format, static_cast<int>(i)))) {
          EXPECT_EQ(back[i], codes[i]) << name(format.type);
        }
    }
  }
}

TEST(NarrowTypes, NumbersRoundToTheNearestOfTheType) {
  for (const FloatType& format : float_types) {
    std::vector<double> numbers;
    for (int code = 0; code < 1 << bits(format.type); ++code) {
      const double value = number_of(format, code);
      if (!std::isfinite(value)) continue;
      for (const double factor : {1.0, 1.0 + 0x1p-20, 1.0 - 0x1p-20, 1.0625, 1.125, 1.25, 0.75})
        numbers.push_back(static_cast<float>(value * factor));
    }
    for (const double value :
         {1e30, -1e30, 1e-30, -1e-30, 0.0, 465.0, 464.0, 57345.0, 61440.0, 7.0})
      numbers.push_back(static_cast<float>(value));
    const Tensor x =
        Tensor::from_reals(DataType::f32, {static_cast<std::int64_t>(numbers.size())}, numbers);
    const std::vector<double> rounded = cast(cast(x, format.type), DataType::f64).reals();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(rounded[i], nearest(format, numbers[i])) << name(format.type) << " " << numbers[i];
  }
}

TEST(NarrowTypes, InfinitiesSaturateAndNaNStays) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::from_reals(DataType::f32, {3},
                                      std::vector<double>{infinity, -infinity, std::nan("")});
  const std::map<DataType, double> largest = {{DataType::f8e4m3fn, 448},
                                              {DataType::f8e4m3fnuz, 240},
                                              {DataType::f8e5m2, 57344},
                                              {DataType::f8e5m2fnuz, 57344}};
  for (const auto& [type, value] : largest) {
    const std::vector<double> numbers = cast(cast(x, type), DataType::f32).reals();
    EXPECT_EQ(numbers[0], value) << name(type);
    EXPECT_EQ(numbers[1], -value) << name(type);
    EXPECT_TRUE(std::isnan(numbers[2])) << name(type);
  }
}

TEST(NarrowTypes, IntegersOfFewBitsWrap) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = -40; i <= 40; ++i) numbers.push_back(i);
  const Tensor x = Tensor::from_integers(DataType::i32, {81}, numbers);
  for (const DataType type : {DataType::u4, DataType::i4, DataType::u2, DataType::i2}) {
    const std::int64_t span = std::int64_t{1} << bits(type);
    const std::int64_t low = type == DataType::i4 || type == DataType::i2 ? -span / 2 : 0;
    const std::vector<std::int64_t> there = cast(cast(x, type), DataType::i32).integers();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ((there[i] - numbers[i]) % span, 0) << name(type) << " " << numbers[i];
      EXPECT_TRUE(low <= there[i] && there[i] < low + span) << name(type) << " " << numbers[i];
    }
  }
}

TEST(NarrowTypes, ElementsOfLessThanAByteArePackedInConstants) {
  const std::vector<std::int64_t> codes = {1, 15, 7, 8, 3};
  const Constant packed = Tensor::from_integers(DataType::u4, {5}, codes).constant();
  const std::vector<std::byte> expected = {std::byte{0xf1}, std::byte{0x87}, std::byte{0x03}};
  EXPECT_TRUE(
      std::equal(expected.begin(), expected.end(), packed.bytes().begin(), packed.bytes().end()));
  EXPECT_EQ(packed.integers(), codes);
  EXPECT_EQ(Tensor::of(packed).integers(), codes);
  const std::vector<std::int64_t> small = {3, 0, 2, 1, 1};
  const Constant pairs = Tensor::from_integers(DataType::u2, {5}, small).constant();
  EXPECT_EQ(pairs.bytes().size(), 2U);
  EXPECT_EQ(pairs.bytes()[0], std::byte{0x63});
  EXPECT_EQ(Tensor::of(pairs).integers(), small);
  EXPECT_EQ(Tensor::from_integers(DataType::u4, {0}, {}).constant().bytes().size(), 0U);
}

TEST(NarrowTypes, AreMovedAsTheyAre) {
  const Tensor x =
      Tensor::from_integers(DataType::i4, {2, 3}, std::vector<std::int64_t>{1, 2, 3, 15, 14, 13});
  const auto moved = apply("Transpose", {x}, {{"perm", Integers{1, 0}}});
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->front().integers(), (std::vector<std::int64_t>{1, 15, 2, 14, 3, 13}));
  EXPECT_EQ(cast(moved->front(), DataType::i8).integers(),
            (std::vector<std::int64_t>{1, -1, 2, -2, 3, -3}));
}

TEST(NarrowTypes, AreNoTypesToComputeWith) {
  const Tensor x = Tensor::from_integers(DataType::f8e4m3fn, {2}, std::vector<std::int64_t>{1, 2});
  for (const char* name : {"Add", "Mul", "Min"})
    EXPECT_FALSE(apply(name, {x, x}, {}).has_value()) << name;
}

}  // namespace
}  // namespace lemma
