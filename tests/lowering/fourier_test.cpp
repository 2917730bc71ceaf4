// Fourier sums by factors and by convolutions against the sums as they are defined.

#include "lowering/fourier.h"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>

namespace lemma::lowering {
namespace {

/// Numbers between -1 and 1.
std::vector<ComplexNumber<double>> terms_of(std::int64_t count) {
  std::vector<ComplexNumber<double>> terms;
  std::uint64_t word = 1;
  const auto next = [&word] {
    word = word * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<float>(static_cast<std::int64_t>(word) >> 40) * 0x1p-23F;
  };
  for (std::int64_t k = 0; k < count; ++k) {
    const float real = next();
    terms.push_back({real, next()});
  }
  return terms;
}

/// The distance of the sums from those of the definition, of the length of all sums.
template <typename T>
double error_of(std::int64_t length, std::int64_t terms, std::int64_t sums, bool is_conjugate) {
  const std::vector<ComplexNumber<double>> x = terms_of(terms);
  std::vector<long double> cosines, sines;
  for (std::int64_t k = 0; k < length; ++k) {
    const long double angle = (is_conjugate ? -2 : 2) * std::numbers::pi_v<long double> *
                              static_cast<long double>(k) / static_cast<long double>(length);
    cosines.push_back(std::cos(angle));
    sines.push_back(std::sin(angle));
  }
  double distance = 0, size = 0;
  std::int64_t stored = 0;
  FourierSums<T>(length).run(
      terms, sums, is_conjugate,
      [&](std::int64_t k) {
        const ComplexNumber<double>& term = x[static_cast<std::size_t>(k)];
        return ComplexNumber<T>{static_cast<T>(term.real), static_cast<T>(term.imaginary)};
      },
      [&](std::int64_t j, T real, T imaginary) {
        long double expected_real = 0, expected_imaginary = 0;
        for (std::int64_t k = 0; k < terms; ++k) {
          const auto multiple = static_cast<std::size_t>(j * k % length);
          const ComplexNumber<double>& term = x[static_cast<std::size_t>(k)];
          expected_real += term.real * cosines[multiple] - term.imaginary * sines[multiple];
          expected_imaginary += term.real * sines[multiple] + term.imaginary * cosines[multiple];
        }
        const auto a = static_cast<double>(real - expected_real),
                   b = static_cast<double>(imaginary - expected_imaginary);
        distance += a * a + b * b;
        size += static_cast<double>(expected_real * expected_real +
                                    expected_imaginary * expected_imaginary);
        ++stored;
      });
  EXPECT_EQ(stored, sums);
  return size > 0 ? std::sqrt(distance / size) : distance;
}

/// A few units of roundoff for each step of which a sum is made.
template <typename T>
void expect_small_error(std::int64_t length, std::int64_t terms, std::int64_t sums) {
  const double unit = std::numeric_limits<T>::epsilon();
  for (const bool is_conjugate : {false, true})
    EXPECT_LE(error_of<T>(length, terms, sums, is_conjugate),
              unit * (2 + 2 * std::log2(static_cast<double>(length))))
        << terms << " terms, " << sums << " sums of " << length;
}

TEST(FourierSums, are_those_of_the_definition_for_all_small_lengths) {
  for (std::int64_t length = 1; length <= 140; ++length) {
    expect_small_error<float>(length, length, length);
    expect_small_error<double>(length, length, length);
  }
}

TEST(FourierSums, are_those_of_the_definition_for_long_ones) {
  for (const std::int64_t length : {256, 343, 1000, 1009, 1024, 1155, 1369}) {
    expect_small_error<float>(length, length, length);
    expect_small_error<double>(length, length, length);
  }
}

TEST(FourierSums, may_have_fewer_terms_and_sums_than_the_length) {
  for (const std::int64_t length : {16, 37, 60})
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, length / 2 + 1}) {
      expect_small_error<float>(length, count, length);
      expect_small_error<double>(length, length, count);
    }
}

}  // namespace
}  // namespace lemma::lowering
