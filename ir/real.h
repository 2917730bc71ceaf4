#pragma once
// Real attributes as the definitions of operators see them.

#include <compare>
#include <cstdint>
#include <optional>
#include <variant>

namespace lemma {
namespace operators {
class Composer;
}

/// A real parameter of a rule in a proof. It stands for all numbers of one place in the order of the rule's
/// real parameters and 0: rank 1 is the least one above 0, rank -1 the greatest one below. It is never 0, and
/// no number equals it.
struct RealSymbol {
  std::int64_t rank = 1;
  friend auto operator<=>(RealSymbol, RealSymbol) = default;
  template <typename H>
  friend H AbslHashValue(H state, RealSymbol symbol) {
    return H::combine(std::move(state), symbol.rank);
  }
};

/// The value of a real attribute: a number, or a symbol in a proof. A definition passes it on to
/// DefinitionBuilder or Composer and computes with the expression that these make of it. Nothing can be computed
/// with the value itself, so that what is proved for a symbol holds for every number that it stands for.
/// `Attributes::number` gives the number to code that needs it; it does so outside proofs only.
class Real {
 private:
  friend class Attributes;
  friend class DefinitionBuilder;
  friend class operators::Composer;
  explicit Real(double number) : value_(number) {}
  explicit Real(RealSymbol symbol) : value_(symbol) {}
  /// Whether it is written as this number; false for symbols.
  bool is_written(double number) const {
    const auto* written = std::get_if<double>(&value_);
    return written != nullptr && *written == number;
  }
  std::variant<double, RealSymbol> value_;
};

}  // namespace lemma
