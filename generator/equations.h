#pragma once
// Equations between sizes, solved by elimination, and the choices that are made on the way.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/dimension.h"

namespace lemma::generator {

/// Symbols that begin with "?" are copies of operators' own, which are eliminated first.
class Equations {
 public:
  Dimension resolve(const Dimension& dimension) const { return substitute(dimension, solved_); }

  /// False if they cannot be equal.
  bool unify(const Dimension& a, const Dimension& b);

  void assign(const std::string& symbol, const Dimension& value);

 private:
  struct Solution {
    int rank = 0;  // the smaller the better
    std::string symbol;
    Dimension value;
  };

  static Dimension without_common_factor(Dimension difference);
  static std::optional<Solution> solve_for(const Dimension::Term& term,
                                           const Dimension& difference);

  DimensionBindings solved_;
};

/// The choices between several ways to go on: the first at every place, then the others.
class Choices {
 public:
  std::size_t choose(std::size_t count);
  /// Goes to the next combination; false after the last one.
  bool next();

 private:
  std::vector<std::pair<std::size_t, std::size_t>> taken_;
  std::size_t at_ = 0;
};

/// An open symbol that divides `product`, beside other factors, and what is left of it: `?n` and `?w + 1` of
/// `?n*(?w + 1)`.
struct OpenFactor {
  std::string symbol;
  Dimension rest;
};
std::optional<OpenFactor> open_factor_of(const Dimension& product);

/// The symbols that divide a size that is more than one of them, each with what is left of it.
std::vector<std::pair<Dimension, Dimension>> factors_of(const Dimension& size);

}  // namespace lemma::generator
