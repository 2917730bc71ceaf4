#pragma once
// Conversions between the kinds of attribute values that stand for the same thing: 3 as an integer,
// a dimension or a real; [1, 2] as integers, dimensions or reals. Rules write one literal for all.

#include <cstdint>
#include <optional>

#include "ir/attributes.h"

namespace lemma {

std::optional<Dimension> to_dimension(const AttributeValue& value);
std::optional<std::int64_t> to_integer(const AttributeValue& value);
std::optional<double> to_real(const AttributeValue& value);
std::optional<Shape> to_dimensions(const AttributeValue& value);
std::optional<Integers> to_integers(const AttributeValue& value);
std::optional<Reals> to_reals(const AttributeValue& value);
/// The value as an attribute of that kind; nothing if it is none.
std::optional<AttributeValue> to_kind(const AttributeValue& value, AttributeKind kind);
/// Equal after conversion: 3 equals 3.0 and the dimension 3, but not "3".
bool same_value(const AttributeValue& a, const AttributeValue& b);

}  // namespace lemma
