#pragma once
// Attributes of a node: names and values, sorted by name. Integers that may be symbolic, in models (a
// target shape, the end of a slice) or in rules (strides, pads, groups), are Dimensions; those that
// shape rules must know (axes, permutations, flags) are plain.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "ir/data_type.h"
#include "ir/dimension.h"
#include "ir/real.h"

namespace lemma {

using Integers = std::vector<std::int64_t>;
using Reals = std::vector<double>;

/// The order of the alternatives is the order of AttributeKind. The last one is a real attribute in a proof.
using AttributeValue = std::variant<std::int64_t, double, std::string, Integers, Reals, Shape,
                                    DataType, Dimension, RealSymbol>;

enum class AttributeKind : std::uint8_t {
  integer,
  real,
  string,
  integers,
  reals,
  dimensions,
  data_type,
  dimension,
};

std::string_view name(AttributeKind kind);
AttributeKind kind_of(const AttributeValue& value);
std::string text(const AttributeValue& value);
/// Inverse of text() for a value of the given kind.
Result<AttributeValue> parse_attribute_value(AttributeKind kind, std::string_view text);

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> values);

  void set(std::string name, AttributeValue value);
  void erase(std::string_view name);
  const AttributeValue* find(std::string_view name) const;
  bool empty() const { return values_.empty(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

  /// Accessors for attributes that the operator's record says are there, with that kind; the graph
  /// checks this when a node is added, so a failure here is a broken invariant.
  std::int64_t integer(std::string_view name) const;
  /// A real attribute for a definition (ir/real.h).
  Real real(std::string_view name) const;
  /// Whether a real attribute is 0. Proofs have a case of its own for 0.
  bool is_zero(std::string_view name) const;
  /// Whether a real attribute is NaN, or an integer of at most 53 bits. No symbol is.
  bool is_nan(std::string_view name) const;
  bool is_whole(std::string_view name) const;
  /// The number that a real attribute is, for export, import and costs. A shape rule or a definition may ask for
  /// it if the attribute has the role `number`: no symbol of a proof gets there. An error (std::logic_error)
  /// for a symbol.
  double number(std::string_view name) const;
  const std::string& string(std::string_view name) const;
  const Integers& integers(std::string_view name) const;
  const Reals& reals(std::string_view name) const;
  const Shape& dimensions(std::string_view name) const;
  DataType data_type(std::string_view name) const;
  const Dimension& dimension(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  /// Real numbers are compared by their bits: NaN equals itself, and -0 differs from 0.
  friend bool operator==(const Attributes& a, const Attributes& b);
  std::size_t hash() const;

 private:
  std::vector<std::pair<std::string, AttributeValue>> values_;
};

std::string text(const Attributes& attributes);  // "{axis=1, shape=[N, 4]}", "" if empty

template <typename H>
H AbslHashValue(H state, const Attributes& attributes) {
  return H::combine(std::move(state), attributes.hash());
}

}  // namespace lemma
