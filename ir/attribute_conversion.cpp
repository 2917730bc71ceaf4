#include "ir/attribute_conversion.h"

namespace lemma {

std::optional<Dimension> to_dimension(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return Dimension(*integer);
  if (const auto* dimension = std::get_if<Dimension>(&value))
    if (dimension->is_valid()) return *dimension;
  return std::nullopt;
}

std::optional<std::int64_t> to_integer(const AttributeValue& value) {
  const auto dimension = to_dimension(value);
  return dimension ? dimension->constant() : std::nullopt;
}

std::optional<double> to_real(const AttributeValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  const auto integer = to_integer(value);
  constexpr std::int64_t exact = INT64_C(1) << 53;
  if (!integer || *integer < -exact || *integer > exact) return std::nullopt;
  return static_cast<double>(*integer);
}

std::optional<Shape> to_dimensions(const AttributeValue& value) {
  if (const auto* shape = std::get_if<Shape>(&value)) return *shape;
  if (const auto* integers = std::get_if<Integers>(&value))
    return Shape(integers->begin(), integers->end());
  return std::nullopt;
}

std::optional<Integers> to_integers(const AttributeValue& value) {
  if (const auto* integers = std::get_if<Integers>(&value)) return *integers;
  if (const auto* shape = std::get_if<Shape>(&value)) return constant_sizes(*shape);
  return std::nullopt;
}

std::optional<Reals> to_reals(const AttributeValue& value) {
  if (const auto* reals = std::get_if<Reals>(&value)) return *reals;
  if (const auto integers = to_integers(value)) return Reals(integers->begin(), integers->end());
  return std::nullopt;
}

namespace {

template <typename T>
std::optional<AttributeValue> wrap(std::optional<T> value) {
  if (!value) return std::nullopt;
  return AttributeValue(std::move(*value));
}

template <typename T>
std::optional<AttributeValue> only(const AttributeValue& value) {
  if (!std::holds_alternative<T>(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<AttributeValue> to_kind(const AttributeValue& value, AttributeKind kind) {
  if (kind == AttributeKind::real && std::holds_alternative<RealSymbol>(value)) return value;
  switch (kind) {
    case AttributeKind::integer: return wrap(to_integer(value));
    case AttributeKind::real: return wrap(to_real(value));
    case AttributeKind::string: return only<std::string>(value);
    case AttributeKind::integers: return wrap(to_integers(value));
    case AttributeKind::reals: return wrap(to_reals(value));
    case AttributeKind::dimensions: return wrap(to_dimensions(value));
    case AttributeKind::data_type: return only<DataType>(value);
    case AttributeKind::dimension: return wrap(to_dimension(value));
  }
  return std::nullopt;
}

bool same_value(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() == b.index()) return a == b;
  if (const auto x = to_dimension(a), y = to_dimension(b); x && y) return *x == *y;
  if (const auto x = to_dimensions(a), y = to_dimensions(b); x && y) return *x == *y;
  if (const auto x = to_real(a), y = to_real(b); x && y) return *x == *y;
  if (const auto x = to_reals(a), y = to_reals(b); x && y) return *x == *y;
  return false;
}

}  // namespace lemma
