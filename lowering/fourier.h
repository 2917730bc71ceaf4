#pragma once
// Sums of terms times roots of unity, sum(k: x[k] * exp(2 pi i j k / n)), in about n log n steps. Generated source includes this
// file, which needs only the standard library.
//
// Lengths whose prime factors are small are transformed a factor at a time (Stockham's order, in which no result has to change
// its place); others are a convolution of a length that is a power of two (Bluestein 1970).

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lemma::lowering {

template <typename T>
struct ComplexNumber {
  T real = 0, imaginary = 0;
};

/// exp(-2 pi i k / n): the multiple is below n, so that the angle is as exact as an f64 can be.
inline ComplexNumber<double> root_of_unity(std::int64_t k, std::int64_t n) {
  constexpr double turn = 6.283185307179586476925;
  const double angle = -turn * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

/// Numbers whose parts lie in two arrays.
template <typename T>
struct ComplexNumbers {
  explicit ComplexNumbers(std::int64_t count)
      : memory(new T[static_cast<std::size_t>(2 * count)]),
        real(memory.get()),
        imaginary(memory.get() + count) {}

  std::unique_ptr<T[]> memory;
  T *real, *imaginary;
};

template <typename T>
class FourierSums {
 public:
  [[gnu::noinline]] explicit FourierSums(std::int64_t length) : length_(length) {
    std::int64_t rest = length;
    for (const std::int64_t factor : {4, 2, 3, 5, 7})
      for (; rest % factor == 0; rest /= factor) factors_.push_back(factor);
    for (std::int64_t factor = 11; factor <= greatest_factor; factor += 2)
      for (; rest % factor == 0; rest /= factor) factors_.push_back(factor);
    if (rest > 1)
      prepare_convolution();
    else
      prepare_turns();
  }

  /// `element(k)`: the term k, of those below `terms`; the others are 0. `store(j, real, imaginary)`: takes the sum j, of those
  /// below `sums`. `is_conjugate`: the roots are exp(-2 pi i j k / n), as in the transform of a signal.
  template <typename Element, typename Store>
  void run(std::int64_t terms, std::int64_t sums, bool is_conjugate, const Element& element,
           const Store& store) const {
    ComplexNumbers<T> x(length_), scratch(length_);
    for (std::int64_t k = 0; k < terms; ++k) {
      const ComplexNumber<T> term = element(k);
      x.real[k] = term.real;
      x.imaginary[k] = term.imaginary;
    }
    for (std::int64_t k = terms; k < length_; ++k) x.real[k] = x.imaginary[k] = 0;
    // The other roots: of numbers with their parts exchanged, which the sums have then as well.
    if (!is_conjugate) std::swap(x.real, x.imaginary);
    transform(x, scratch);
    if (!is_conjugate) std::swap(x.real, x.imaginary);
    for (std::int64_t j = 0; j < sums; ++j) store(j, x.real[j], x.imaginary[j]);
  }

  /// In place, with roots exp(-2 pi i j k / n). Once for all kernels of a source.
  [[gnu::noinline]] void transform(ComplexNumbers<T>& x, ComplexNumbers<T>& scratch) const {
    if (longer_) return convolve(x);
    std::int64_t rest = length_, done = 1, first_turn = 0, first_root = 0;
    for (const std::int64_t factor : factors_) {
      const Stage stage = {rest / factor, done, turns_.data() + first_turn,
                           roots_.data() + first_root};
      switch (factor) {
        case 2: run_stage<2>(stage, x, scratch); break;
        case 3: run_stage<3>(stage, x, scratch); break;
        case 4: run_stage<4>(stage, x, scratch); break;
        case 5: run_stage<5>(stage, x, scratch); break;
        case 7: run_stage<7>(stage, x, scratch); break;
        default: run_stage_of(factor, stage, x, scratch); break;
      }
      std::swap(x, scratch);
      first_turn += stage.groups * (factor - 1);
      first_root += factor;
      rest /= factor;
      done *= factor;
    }
  }

 private:
  static constexpr std::int64_t greatest_factor = 31;  // of which all terms are added up

  struct Stage {
    std::int64_t groups, neighbours;  // neighbours lie side by side and are turned alike
    const ComplexNumber<T>* turns;    // of each group, of all of its sums but the first
    const ComplexNumber<T>* roots;    // of the factor
  };

  static ComplexNumber<T> rounded(const ComplexNumber<double>& number) {
    return {static_cast<T>(number.real), static_cast<T>(number.imaginary)};
  }

  void prepare_turns() {
    std::int64_t rest = length_;
    for (const std::int64_t factor : factors_) {
      for (std::int64_t group = 0; group < rest / factor; ++group)
        for (std::int64_t sum = 1; sum < factor; ++sum)
          turns_.push_back(rounded(root_of_unity(group * sum, rest)));
      for (std::int64_t k = 0; k < factor; ++k) roots_.push_back(rounded(root_of_unity(k, factor)));
      rest /= factor;
    }
  }

  /// Sums of `factor` numbers that lie far apart, which become neighbours.
  template <int factor>
  static void run_stage(const Stage& stage, const ComplexNumbers<T>& from, ComplexNumbers<T>& to) {
    const std::int64_t near = stage.neighbours, far = stage.groups * near;
    ComplexNumber<T> roots[factor];
    for (int k = 0; k < factor; ++k) roots[k] = stage.roots[k];
    for (std::int64_t group = 0; group < stage.groups; ++group) {
      const ComplexNumber<T>* turns = stage.turns + group * (factor - 1);
      const T *real = from.real + group * near, *imaginary = from.imaginary + group * near;
      T* __restrict to_real = to.real + group * near * factor;
      T* __restrict to_imaginary = to.imaginary + group * near * factor;
      for (std::int64_t i = 0; i < near; ++i) {
        ComplexNumber<T> x[factor];
        for (int k = 0; k < factor; ++k) x[k] = {real[i + k * far], imaginary[i + k * far]};
        if constexpr (factor % 2 != 0)
          add_up(roots, x);
        else
          add_up(x);
        to_real[i] = x[0].real;
        to_imaginary[i] = x[0].imaginary;
        for (int k = 1; k < factor; ++k) {
          to_real[i + k * near] =
              x[k].real * turns[k - 1].real - x[k].imaginary * turns[k - 1].imaginary;
          to_imaginary[i + k * near] =
              x[k].real * turns[k - 1].imaginary + x[k].imaginary * turns[k - 1].real;
        }
      }
    }
  }

  static void add_up(ComplexNumber<T> (&x)[2]) {
    const ComplexNumber<T> a = x[0], b = x[1];
    x[0] = {a.real + b.real, a.imaginary + b.imaginary};
    x[1] = {a.real - b.real, a.imaginary - b.imaginary};
  }
  static void add_up(ComplexNumber<T> (&x)[4]) {
    const ComplexNumber<T> even = {x[0].real + x[2].real, x[0].imaginary + x[2].imaginary},
                           odd = {x[1].real + x[3].real, x[1].imaginary + x[3].imaginary},
                           a = {x[0].real - x[2].real, x[0].imaginary - x[2].imaginary},
                           b = {x[1].real - x[3].real, x[1].imaginary - x[3].imaginary};
    x[0] = {even.real + odd.real, even.imaginary + odd.imaginary};
    x[1] = {a.real + b.imaginary, a.imaginary - b.real};
    x[2] = {even.real - odd.real, even.imaginary - odd.imaginary};
    x[3] = {a.real - b.imaginary, a.imaginary + b.real};
  }
  /// Of an odd number of terms: those at the same distance from the first one, before and after it, have conjugate roots.
  template <int factor>
  static void add_up(const ComplexNumber<T>* roots, ComplexNumber<T> (&x)[factor]) {
    constexpr int half = factor / 2;
    ComplexNumber<T> sums[half], differences[half], all = x[0];
    for (int k = 0; k < half; ++k) {
      const ComplexNumber<T> a = x[k + 1], b = x[factor - 1 - k];
      sums[k] = {a.real + b.real, a.imaginary + b.imaginary};
      differences[k] = {a.real - b.real, a.imaginary - b.imaginary};
      all.real += sums[k].real;
      all.imaginary += sums[k].imaginary;
    }
    for (int j = 1; j <= half; ++j) {
      ComplexNumber<T> along = x[0], across;
      for (int k = 0; k < half; ++k) {
        const ComplexNumber<T> root = roots[j * (k + 1) % factor];
        along.real += root.real * sums[k].real;
        along.imaginary += root.real * sums[k].imaginary;
        across.real += root.imaginary * differences[k].real;
        across.imaginary += root.imaginary * differences[k].imaginary;
      }
      x[j] = {along.real - across.imaginary, along.imaginary + across.real};
      x[factor - j] = {along.real + across.imaginary, along.imaginary - across.real};
    }
    x[0] = all;
  }

  /// The same for any factor: all terms of each sum.
  static void run_stage_of(std::int64_t factor, const Stage& stage, const ComplexNumbers<T>& from,
                           ComplexNumbers<T>& to) {
    const std::int64_t near = stage.neighbours, far = stage.groups * near;
    for (std::int64_t group = 0; group < stage.groups; ++group)
      for (std::int64_t sum = 0; sum < factor; ++sum) {
        const ComplexNumber<T> turn =
            sum == 0 ? ComplexNumber<T>{1, 0} : stage.turns[group * (factor - 1) + sum - 1];
        const std::int64_t place = group * near, target = (group * factor + sum) * near;
        for (std::int64_t i = 0; i < near; ++i) {
          ComplexNumber<T> total;
          for (std::int64_t k = 0; k < factor; ++k) {
            const ComplexNumber<T> root = stage.roots[sum * k % factor];
            const T real = from.real[place + i + k * far],
                    imaginary = from.imaginary[place + i + k * far];
            total.real += real * root.real - imaginary * root.imaginary;
            total.imaginary += real * root.imaginary + imaginary * root.real;
          }
          to.real[target + i] = total.real * turn.real - total.imaginary * turn.imaginary;
          to.imaginary[target + i] = total.real * turn.imaginary + total.imaginary * turn.real;
        }
      }
  }

  /// exp(-pi i k^2 / n), by which j k = (j^2 + k^2 - (j - k)^2) / 2 makes a convolution of the sums; its angle has twice as many
  /// multiples.
  void prepare_convolution() {
    for (std::int64_t k = 0; k < length_; ++k)
      chirp_.push_back(root_of_unity(k * k % (2 * length_), 2 * length_));
    std::int64_t longer = 1;
    while (longer < 2 * length_ - 1) longer *= 2;
    longer_ = std::make_unique<FourierSums<double>>(longer);
    spectrum_ = std::make_unique<ComplexNumbers<double>>(longer);
    ComplexNumbers<double> scratch(longer);
    for (std::int64_t k = 0; k < longer; ++k) spectrum_->real[k] = spectrum_->imaginary[k] = 0;
    for (std::int64_t k = 0; k < length_; ++k)
      for (const std::int64_t place : {k, (longer - k) % longer}) {
        spectrum_->real[place] = chirp_[static_cast<std::size_t>(k)].real;
        spectrum_->imaginary[place] = -chirp_[static_cast<std::size_t>(k)].imaginary;
      }
    longer_->transform(*spectrum_, scratch);
  }

  void convolve(ComplexNumbers<T>& x) const {
    const std::int64_t longer = longer_->length_;
    ComplexNumbers<double> terms(longer), scratch(longer);
    for (std::int64_t k = 0; k < longer; ++k) terms.real[k] = terms.imaginary[k] = 0;
    for (std::int64_t k = 0; k < length_; ++k) {
      const ComplexNumber<double> turn = chirp_[static_cast<std::size_t>(k)];
      const double real = x.real[k], imaginary = x.imaginary[k];
      terms.real[k] = real * turn.real - imaginary * turn.imaginary;
      terms.imaginary[k] = real * turn.imaginary + imaginary * turn.real;
    }
    longer_->transform(terms, scratch);
    // Back by the same transform, of numbers with their parts exchanged.
    for (std::int64_t k = 0; k < longer; ++k) {
      const double real = terms.real[k], imaginary = terms.imaginary[k];
      terms.imaginary[k] = real * spectrum_->real[k] - imaginary * spectrum_->imaginary[k];
      terms.real[k] = real * spectrum_->imaginary[k] + imaginary * spectrum_->real[k];
    }
    longer_->transform(terms, scratch);
    const double part = 1 / static_cast<double>(longer);
    for (std::int64_t j = 0; j < length_; ++j) {
      const ComplexNumber<double> turn = chirp_[static_cast<std::size_t>(j)];
      const double real = terms.imaginary[j] * part, imaginary = terms.real[j] * part;
      x.real[j] = static_cast<T>(real * turn.real - imaginary * turn.imaginary);
      x.imaginary[j] = static_cast<T>(real * turn.imaginary + imaginary * turn.real);
    }
  }

  template <typename>
  friend class FourierSums;

  std::int64_t length_;
  std::vector<std::int64_t> factors_;                 // none where there is a convolution
  std::vector<ComplexNumber<T>> turns_, roots_;       // by stage
  std::vector<ComplexNumber<double>> chirp_;          // of a convolution
  std::unique_ptr<ComplexNumbers<double>> spectrum_;  // of the conjugate chirp
  std::unique_ptr<FourierSums<double>> longer_;       // of its length
};

}  // namespace lemma::lowering
