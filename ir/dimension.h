#pragma once
// Symbolic dimensions: integer polynomials over symbols and a few non-linear atoms
// (floor division, minimum, maximum), kept in a canonical form so that two dimensions that are
// equal by ring arithmetic compare equal. A symbol stands for a size that is not known until run
// time and is at least 0.
//
// Arithmetic never wraps: on overflow the result is the invalid dimension, which stays invalid
// through all further arithmetic and is rejected by shape inference.

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "base/result.h"

namespace lemma {

enum class AtomKind : std::uint8_t { symbol, floor_div, minimum, maximum };

class Dimension {
 public:
  struct Atom;                                      // a symbol, or a non-linear function; below
  using AtomPointer = std::shared_ptr<const Atom>;  // immutable, compared by structure
  using Atoms = absl::InlinedVector<AtomPointer, 2>;
  struct Term {  // coefficient · product of atoms (sorted)
    Atoms atoms;
    std::int64_t coefficient = 0;
  };
  using Terms = absl::InlinedVector<Term, 1>;  // sizes are mostly one symbol

  Dimension() = default;
  Dimension(std::int64_t value) : constant_(value) {}  // NOLINT: a size is a dimension
  static Dimension symbol(std::string name);
  static Dimension invalid();

  bool is_constant() const { return !terms_ && !invalid_; }
  bool is_valid() const { return !invalid_; }
  /// The value of a constant dimension; nothing for a symbolic or invalid one.
  std::optional<std::int64_t> constant() const;
  bool is(std::int64_t value) const { return is_constant() && constant_ == value; }
  /// The name, if the dimension is exactly one symbol.
  std::optional<std::string> as_symbol() const;

  /// The constant part, and the other terms in canonical order.
  std::int64_t offset() const { return constant_; }
  const Terms& terms() const;

  friend Dimension operator+(const Dimension& a, const Dimension& b);
  friend Dimension operator-(const Dimension& a, const Dimension& b);
  friend Dimension operator*(const Dimension& a, const Dimension& b);
  friend bool operator==(const Dimension& a, const Dimension& b);
  /// A total order by structure, for containers and canonical forms; not the order of sizes.
  friend std::strong_ordering operator<=>(const Dimension& a, const Dimension& b);

  std::size_t hash() const;
  /// Canonical text, which parse_dimension reads back: "2*N + 1", "floordiv(H + 1, 2)". Symbols
  /// that are not plain names are quoted: "batch size".
  std::string text() const;

 private:
  friend class DimensionAccess;
  std::int64_t constant_ = 0;
  bool invalid_ = false;
  std::shared_ptr<const Terms> terms_;  // null for constants
};

/// `symbol` for a symbol, else `left` and `right`.
struct Dimension::Atom {
  AtomKind kind = AtomKind::symbol;
  std::string symbol;
  Dimension left, right;
  std::size_t hash = 0;  // of the structure: unequal atoms are told apart without a walk
  std::size_t size = 1;  // atoms of the whole tree, and its height
  std::size_t depth = 1;
};

/// floor(a / b) and its remainder; exact polynomial quotients are simplified. Invalid for b = 0.
Dimension floor_div(const Dimension& a, const Dimension& b);
Dimension floor_mod(const Dimension& a, const Dimension& b);
/// a / b where b divides a as a polynomial; nothing otherwise.
std::optional<Dimension> exact_div(const Dimension& a, const Dimension& b);
Dimension minimum(const Dimension& a, const Dimension& b);
Dimension maximum(const Dimension& a, const Dimension& b);

/// Lower bound that holds for all non-negative symbols; nothing where none is seen.
std::optional<std::int64_t> lower_bound(const Dimension& dimension);

using DimensionBindings = std::map<std::string, Dimension, std::less<>>;
Dimension substitute(const Dimension& dimension, const DimensionBindings& bindings);
/// The names of all symbols that occur, also inside atoms.
void collect_symbols(const Dimension& dimension, std::map<std::string, int>& counts);

/// Inverse of text(); what overflows or divides by zero is an error.
Result<Dimension> parse_dimension(std::string_view text);

using Shape = std::vector<Dimension>;

/// Product of all dimensions; 1 for a scalar; 0 if one is 0; invalid on overflow.
Dimension element_count(const Shape& shape);
bool is_constant(const Shape& shape);
/// No dimension is invalid or a negative constant.
bool has_sizes(const Shape& shape);
/// All sizes of a constant shape; nothing if one is symbolic or invalid.
std::optional<std::vector<std::int64_t>> constant_sizes(const Shape& shape);
std::string text(const Shape& shape);  // "[1, N, 2*N]"

template <typename H>
H AbslHashValue(H state, const Dimension& dimension) {
  return H::combine(std::move(state), dimension.hash());
}

}  // namespace lemma
