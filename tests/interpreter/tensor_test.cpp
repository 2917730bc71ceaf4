// Tensors, comparison and random contents.

#include <limits>

#include <gtest/gtest.h>

#include "interpreter/compare.h"
#include "interpreter/random.h"
#include "interpreter/tensor.h"

namespace lemma::interpreter {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensor reals(std::vector<double> elements, DataType type = DataType::f64) {
  return Tensor::from_reals(type, {static_cast<std::int64_t>(elements.size())}, elements);
}

TEST(Tensor, SharesTheBytesOfAConstant) {
  const Constant constant = Constant::of(DataType::f32, {2}, std::vector<float>{1, 2});
  const Tensor tensor = Tensor::of(constant);
  EXPECT_EQ(tensor.bytes().data(), constant.bytes().data());
  EXPECT_EQ(tensor.with_sizes({2, 1}).bytes().data(), constant.bytes().data());
  EXPECT_EQ(tensor.constant(), constant);
}

TEST(Tensor, RoundsAndWrapsToItsType) {
  EXPECT_EQ(reals({1.0 / 3}, DataType::f16).reals()[0], 0.333251953125);
  EXPECT_EQ(reals({-1.5, 300}, DataType::u8).integers(), (std::vector<std::int64_t>{255, 44}));
  EXPECT_EQ(reals({0, nan, 2}, DataType::boolean).integers(), (std::vector<std::int64_t>{0, 1, 1}));
}

TEST(Tensor, ChangesDomainWhereElementsHaveAValue) {
  EXPECT_EQ(to_domain(reals({2, -3}), Domain::exact_integer)->integers(),
            (std::vector<std::int64_t>{2, -3}));
  EXPECT_EQ(to_domain(reals({2, 0.5}), Domain::exact_integer).error().message,
            "element 1 is 0.5, not an integer");
  EXPECT_FALSE(to_domain(reals({infinity}), Domain::prime_field).has_value());
  const Tensor wide = *to_domain(reals({0.1}, DataType::f32), Domain::f64);
  EXPECT_EQ(wide.element_size(), 8U);
  EXPECT_EQ(*to_domain(wide, Domain::native), reals({0.1}, DataType::f32));
}

TEST(Compare, MeasuresErrorsInToleranceUnits) {
  const Comparison result = compare(reals({1, 2.1, 100}), reals({1, 2, 101}), {0.1, 0.1});
  EXPECT_TRUE(result.equal);
  EXPECT_NEAR(result.max_absolute_error, 1, 1e-12);
  EXPECT_NEAR(result.max_relative_error, 0.05, 1e-12);
  EXPECT_NEAR(result.tolerance_factor, 0.1 / 0.3, 1e-9);
  EXPECT_FALSE(result.first_failure.has_value());
}

TEST(Compare, FindsTheFirstFailure) {
  const Tensor expected = reals({1, 2, 3, 4}).with_sizes({2, 2});
  const Comparison result = compare(reals({1, 2, 4, 5}).with_sizes({2, 2}), expected, {0.5, 0});
  EXPECT_FALSE(result.equal);
  EXPECT_EQ(result.failures, 2);
  EXPECT_EQ(result.first_failure, 2);
  EXPECT_EQ(result.tolerance_factor, 2);
  EXPECT_EQ(result.description, "element [1, 0] is 4, not 3");
}

TEST(Compare, TreatsNaNAndInfinityAsValues) {
  EXPECT_TRUE(compare(reals({nan, infinity}), reals({nan, infinity}), {}).equal);
  EXPECT_FALSE(compare(reals({nan}), reals({1}), {1e9, 1e9}).equal);
  EXPECT_FALSE(compare(reals({1}), reals({nan}), {1e9, 1e9}).equal);
  EXPECT_FALSE(compare(reals({infinity}), reals({-infinity}), {1e9, 1e9}).equal);
  EXPECT_FALSE(compare(reals({1e300}), reals({infinity}), {1e9, 1e9}).equal);
}

TEST(Compare, WantsIntegersAndTypesToBeEqual) {
  const Tensor three = reals({3}, DataType::i32);
  EXPECT_TRUE(compare(three, reals({3}, DataType::i32), {}).equal);
  EXPECT_FALSE(compare(three, reals({4}, DataType::i32), {10, 10}).equal);
  EXPECT_EQ(compare(three, reals({3}, DataType::i64), {}).type_difference,
            "the tensor is i32[1] (native), not i64[1] (native)");
}

TEST(Random, IsTheSameForEver) {
  EXPECT_EQ(random_word(0, 0, 0), random_word(0, 0, 0));
  EXPECT_NE(random_word(0, 0, 0), random_word(0, 0, 1));
  EXPECT_NE(random_word(0, 0, 0), random_word(0, 1, 0));
  EXPECT_NE(random_word(0, 0, 0), random_word(1, 0, 0));
  EXPECT_EQ(random_word(42, 7, 3), 0xd7c11a797aa28597ULL);
  EXPECT_EQ(stream_of("input"), 0xf90610b5346f2a8cULL);
}

TEST(Random, StaysInItsRange) {
  RandomRange range;
  range.low = 2;
  range.high = 3;
  range.integer_low = -2;
  range.integer_high = 1;
  double sum = 0;
  for (const double value : random_tensor(DataType::f64, {1000}, 5, 0, range).reals()) {
    EXPECT_TRUE(value >= 2 && value < 3);
    sum += value;
  }
  EXPECT_NEAR(sum / 1000, 2.5, 0.05);
  std::vector<int> counts(4, 0);
  for (const std::int64_t value : random_tensor(DataType::i8, {1000}, 5, 0, range).integers())
    ++counts[static_cast<std::size_t>(value + 2)];
  for (const int count : counts) EXPECT_GT(count, 150);
}

}  // namespace
}  // namespace lemma::interpreter
