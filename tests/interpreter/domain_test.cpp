// The number domains and the partiality of definitions, against values worked out by hand.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "interpreter/evaluate.h"
#include "lowering/field.h"

namespace lemma::interpreter {
namespace {

using Make = Expression (*)(DefinitionBuilder&, Expression i);

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// y[i] = make(i) for i < count.
Result<Tensor> evaluate_vector(std::int64_t count, Make make, std::vector<Tensor> inputs,
                               Domain domain = Domain::native) {
  DefinitionBuilder d;
  const Expression i = d.variable(count);
  d.output({i}, make(d, i));
  for (Tensor& input : inputs) {
    LEMMA_ASSIGN_OR_RETURN(input, to_domain(input, domain));
  }
  EvaluationOptions options;
  options.domain = domain;
  LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> outputs,
                         evaluate(std::move(d).finish(), inputs, options));
  return outputs[0];
}

Tensor f32(const std::vector<float>& elements) {
  return Tensor::of(DataType::f32, {static_cast<std::int64_t>(elements.size())}, elements);
}
Expression a(DefinitionBuilder& d, Expression i) { return d.read(0, DataType::f32, {i}); }
Expression b(DefinitionBuilder& d, Expression i) { return d.read(1, DataType::f32, {i}); }

TEST(NativeDomain, RoundsEveryOperationToF32) {
  // (1e8 + 1) - 1e8 is 0 in f32 and 1 in f64.
  Make make = [](DefinitionBuilder& d, Expression i) { return (a(d, i) + b(d, i)) - a(d, i); };
  const std::vector<Tensor> inputs = {f32({1e8F, 1}), f32({1, 2})};
  EXPECT_EQ(evaluate_vector(2, make, inputs)->reals(), (std::vector<double>{0, 2}));
  EXPECT_EQ(evaluate_vector(2, make, inputs, Domain::f64)->reals(), (std::vector<double>{1, 2}));
}

TEST(NativeDomain, RoundsHalfPrecisionOnStoreOnly) {
  Make make = [](DefinitionBuilder& d, Expression i) {
    const Expression x = d.read(0, DataType::f16, {i});
    return (x + d.real(0.5, DataType::f16)) - x;  // 2048 + 0.5 is not a number of f16
  };
  const Tensor input = Tensor::from_reals(DataType::f16, {1}, std::vector<double>{2048});
  const auto result = evaluate_vector(1, make, {input});
  EXPECT_EQ(result->reals(), std::vector<double>{0.5});
  EXPECT_EQ(result->bytes().size(), 2U);
}

TEST(NativeDomain, WrapsIntegersOnStore) {
  Make make = [](DefinitionBuilder& d, Expression i) {
    return d.read(0, DataType::u8, {i}) + d.integer(10, DataType::u8);
  };
  const Tensor input = Tensor::from_integers(DataType::u8, {2}, std::vector<std::int64_t>{5, 250});
  EXPECT_EQ(evaluate_vector(2, make, {input})->integers(), (std::vector<std::int64_t>{15, 4}));
}

TEST(NativeDomain, DividesU64WithoutSign) {
  Make make = [](DefinitionBuilder& d, Expression i) {
    const Expression x = d.read(0, DataType::u64, {i});
    return d.select(x < d.integer(9, DataType::u64), x, x / d.integer(2, DataType::u64));
  };
  const Tensor input = Tensor::from_integers(DataType::u64, {2}, std::vector<std::int64_t>{-2, 8});
  EXPECT_EQ(evaluate_vector(2, make, {input})->integers(),
            (std::vector<std::int64_t>{INT64_MAX, 8}));
}

TEST(NativeDomain, RoundsIntegerDivisionAsNamed) {
  const Tensor input =
      Tensor::from_integers(DataType::i64, {4}, std::vector<std::int64_t>{-7, 7, INT64_MIN, 6});
  const Tensor divisor =
      Tensor::from_integers(DataType::i64, {4}, std::vector<std::int64_t>{2, -2, -1, 3});
  auto with = [&](Make make) { return evaluate_vector(4, make, {input, divisor})->integers(); };
  using Values = std::vector<std::int64_t>;
#define LEMMA_BINARY(kind)                                               \
  [](DefinitionBuilder& d, Expression i) {                               \
    return d.binary(ExpressionKind::kind, d.read(0, DataType::i64, {i}), \
                    d.read(1, DataType::i64, {i}));                      \
  }
  EXPECT_EQ(with(LEMMA_BINARY(divide)), (Values{-3, -3, INT64_MIN, 2}));
  EXPECT_EQ(with(LEMMA_BINARY(floor_divide)), (Values{-4, -4, INT64_MIN, 2}));
  EXPECT_EQ(with(LEMMA_BINARY(floor_modulo)), (Values{1, -1, 0, 0}));
  EXPECT_EQ(with(LEMMA_BINARY(truncated_modulo)), (Values{-1, 1, 0, 0}));
#undef LEMMA_BINARY
}

TEST(NativeDomain, PropagatesNaNThroughMinimumAndMaximum) {
  Make both = [](DefinitionBuilder& d, Expression i) { return maximum(a(d, i), b(d, i)); };
  const auto result = evaluate_vector(3, both, {f32({nan, 1, 2}), f32({1, nan, 3})})->reals();
  EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1]));
  EXPECT_EQ(result[2], 3);
  Make over = [](DefinitionBuilder& d, Expression) {
    const Expression k = d.variable(3);
    return d.reduce(ExpressionKind::minimum_over, {k}, a(d, k));
  };
  EXPECT_TRUE(std::isnan(evaluate_vector(1, over, {f32({1, nan, 2})})->reals()[0]));
}

TEST(NativeDomain, ReducesNothingToTheNeutralElement) {
  EXPECT_EQ(evaluate_vector(1,
                            [](DefinitionBuilder& d, Expression) {
                              const Expression k = d.variable(0);
                              return d.reduce(ExpressionKind::maximum_over, {k}, a(d, k));
                            },
                            {f32({1})})
                ->reals(),
            std::vector<double>{-infinity});
  EXPECT_EQ(evaluate_vector(1,
                            [](DefinitionBuilder& d, Expression) {
                              const Expression k = d.variable(0);
                              return d.reduce(ExpressionKind::minimum_over, {k},
                                              d.cast(k, DataType::i8));
                            },
                            {})
                ->integers(),
            std::vector<std::int64_t>{127});
}

TEST(NativeDomain, CastsTowardZeroAndSaturates) {
  Make make = [](DefinitionBuilder& d, Expression i) { return d.cast(a(d, i), DataType::i64); };
  EXPECT_EQ(evaluate_vector(4, make, {f32({-1.9F, 1.9F, 1e30F, nan})})->integers(),
            (std::vector<std::int64_t>{-1, 1, INT64_MAX, 0}));
}

TEST(ExactDomain, ComputesIntegersAndFindsOverflow) {
  Make square = [](DefinitionBuilder& d, Expression i) { return a(d, i) * a(d, i) * b(d, i); };
  EXPECT_EQ(evaluate_vector(1, square, {f32({65536}), f32({3})}, Domain::exact_integer)->integers(),
            std::vector<std::int64_t>{3LL << 32});
  const auto overflow =
      evaluate_vector(2, square, {f32({1, 4294967296.0F}), f32({1, 1})}, Domain::exact_integer);
  ASSERT_FALSE(overflow.has_value());
  EXPECT_EQ(overflow.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(overflow.error().message,
            "overflow in exact integers (for the element at [1] of the axes longer than 1)");
}

TEST(ExactDomain, DividesExactlyOrNotAtAll) {
  Make quotient = [](DefinitionBuilder& d, Expression i) { return a(d, i) / b(d, i); };
  EXPECT_EQ(evaluate_vector(1, quotient, {f32({12}), f32({-4})}, Domain::exact_integer)->integers(),
            std::vector<std::int64_t>{-3});
  EXPECT_FALSE(evaluate_vector(1, quotient, {f32({12}), f32({5})}, Domain::exact_integer));
  EXPECT_FALSE(evaluate_vector(1, quotient, {f32({12}), f32({0})}, Domain::exact_integer));
}

TEST(ExactDomain, KnowsInfinityAsTheLeastOfMaxima) {
  Make make = [](DefinitionBuilder& d, Expression) {
    const Expression k = d.variable(3);
    return d.reduce(ExpressionKind::maximum_over, {k},
                    d.select(k < d.integer(2), a(d, k), d.lowest(DataType::f32)));
  };
  EXPECT_EQ(evaluate_vector(1, make, {f32({-5, -7, 3})}, Domain::exact_integer)->integers(),
            std::vector<std::int64_t>{-5});
  Make sum = [](DefinitionBuilder& d, Expression i) { return a(d, i) + d.lowest(DataType::f32); };
  EXPECT_FALSE(evaluate_vector(1, sum, {f32({1})}, Domain::exact_integer).has_value());
}

TEST(ExactDomain, LacksFunctionsOfReals) {
  Make make = [](DefinitionBuilder& d, Expression i) {
    return d.apply(ScalarFunction::exp, a(d, i));
  };
  const auto result = evaluate_vector(1, make, {f32({1})}, Domain::exact_integer);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(result.error().message, "there is no 'exp' in exact integers");
  Make half = [](DefinitionBuilder& d, Expression i) {
    return a(d, i) * d.real(0.5, DataType::f32);
  };
  EXPECT_EQ(evaluate_vector(1, half, {f32({1})}, Domain::exact_integer).error().message,
            "the constant 0.5 is not an exact integer");
}

TEST(PrimeField, DividesByInverse) {
  Make make = [](DefinitionBuilder& d, Expression i) {
    return a(d, i) / b(d, i) * b(d, i) - a(d, i);
  };
  EXPECT_EQ(evaluate_vector(3, make, {f32({1, 2, -5}), f32({3, 7, -11})}, Domain::prime_field)
                ->integers(),
            (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(field_multiply(field_inverse(3), 3), 1U);
  EXPECT_EQ(field_of(-1), field_modulus - 1);
  const auto zero = evaluate_vector(1, make, {f32({1}), f32({0})}, Domain::prime_field);
  ASSERT_FALSE(zero.has_value());
  EXPECT_EQ(zero.error().message,
            "division by zero in a prime field (for the element at [] of the axes longer than 1)");
}

TEST(PrimeField, ReadsConstantsAsRatios) {
  EXPECT_EQ(field_multiply(field_constant(0.1, DataType::f64), 10), 1U);
  EXPECT_EQ(field_multiply(field_constant(static_cast<double>(1.0F / 3), DataType::f32), 3), 1U);
  EXPECT_EQ(field_constant(-2, DataType::f32), field_modulus - 2);
  // No ratio of small numbers: the binary fraction itself, 3 * 2^-60.
  EXPECT_EQ(
      field_multiply(field_constant(std::ldexp(3, -60), DataType::f64), std::uint64_t{1} << 60),
      3U);
}

TEST(PrimeField, LacksAnOrder) {
  Make make = [](DefinitionBuilder& d, Expression i) { return maximum(a(d, i), b(d, i)); };
  const auto result = evaluate_vector(1, make, {f32({1}), f32({2})}, Domain::prime_field);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::unsupported);
}

TEST(Partiality, ReadsOutsideAreErrorsUnlessExcluded) {
  const std::vector<Tensor> input = {f32({1, 2, 3})};
  Make bare = [](DefinitionBuilder& d, Expression i) { return a(d, i + d.integer(1)); };
  const auto result = evaluate_vector(3, bare, input);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(result.error().message,
            "index 3 is outside axis 0 of input 0, which has the size 3 (for the element at [2] of "
            "the axes longer than 1)");
  Make selected = [](DefinitionBuilder& d, Expression i) {
    const Expression next = i + d.integer(1);
    return d.select(next < d.integer(3), a(d, next), d.real(9, DataType::f32));
  };
  EXPECT_EQ(evaluate_vector(3, selected, input)->reals(), (std::vector<double>{2, 3, 9}));
  Make conjunction = [](DefinitionBuilder& d, Expression i) {
    const Expression next = i + d.integer(1);
    return (next < d.integer(3)) && (a(d, next) < d.real(2.5, DataType::f32));
  };
  EXPECT_EQ(evaluate_vector(3, conjunction, input)->integers(),
            (std::vector<std::int64_t>{1, 0, 0}));
}

TEST(Partiality, GatheredIndicesAreChecked) {
  Make make = [](DefinitionBuilder& d, Expression i) {
    return a(d, d.read(1, DataType::i64, {i}));
  };
  const Tensor good = Tensor::from_integers(DataType::i64, {2}, std::vector<std::int64_t>{2, 0});
  const Tensor bad = Tensor::from_integers(DataType::i64, {2}, std::vector<std::int64_t>{2, -1});
  EXPECT_EQ(evaluate_vector(2, make, {f32({1, 2, 3}), good})->reals(), (std::vector<double>{3, 1}));
  EXPECT_EQ(
      evaluate_vector(2, make, {f32({1, 2, 3}), bad}).error().message,
      "index -1 is outside axis 0 of input 0, which has the size 3 (for the element at [1] of "
      "the axes longer than 1)");
}

TEST(Partiality, DivisionByZeroIsAnErrorUnlessExcluded) {
  const Tensor input = Tensor::from_integers(DataType::i64, {2}, std::vector<std::int64_t>{2, 0});
  Make bare = [](DefinitionBuilder& d, Expression i) {
    return d.integer(6) / d.read(0, DataType::i64, {i});
  };
  EXPECT_EQ(evaluate_vector(2, bare, {input}).error().message,
            "integer division by zero (for the element at [1] of the axes longer than 1)");
  Make guarded = [](DefinitionBuilder& d, Expression i) {
    const Expression x = d.read(0, DataType::i64, {i});
    return d.select(x == d.integer(0), d.integer(-1), d.integer(6) / x);
  };
  EXPECT_EQ(evaluate_vector(2, guarded, {input})->integers(), (std::vector<std::int64_t>{3, -1}));
}

TEST(Interruption, EndsAtTheDeadline) {
  DefinitionBuilder d;
  const auto axes = d.variables({1000, 1000});
  const Expression k = d.variable(1000000);
  d.output(axes, d.sum({k}, d.cast(k * axes[0] + axes[1], DataType::f32)));
  EvaluationOptions options;
  options.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  const auto result = evaluate(std::move(d).finish(), {}, options);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "evaluation was interrupted before its end");
}

}  // namespace
}  // namespace lemma::interpreter
