#include "operators/sizes.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma::operators {

std::optional<Dimension> agree(const Dimension& a, const Dimension& b) {
  if (a == b) return a;
  if (a.is_constant() && !b.is_constant()) return a;
  if (b.is_constant() && !a.is_constant()) return b;
  return std::nullopt;
}

std::optional<Dimension> agree(const Instance& instance, const Dimension& a, const Dimension& b) {
  if (a == b || instance.assumes(ConstraintKind::equal, a, b)) return a;
  return agree(a, b);
}

Dimension ceil_div(const Dimension& a, const Dimension& b) { return floor_div(a + b - 1, b); }

bool surely_at_least(const Dimension& a, const Dimension& b) {
  const auto bound = lower_bound(a - b);
  return bound && *bound >= 0;
}

Result<void> only_attributes(const OnnxCall& call, std::initializer_list<std::string_view> names) {
  for (const auto& [name, value] : call.attributes)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return unsupported(fmt::format("attribute '{}' is not supported", name));
  if (!call.tensors.empty())
    return unsupported(fmt::format("attribute '{}' is a tensor", call.tensors.front().first));
  return {};
}

std::int64_t integer_or(const OnnxCall& call, std::string_view name, std::int64_t otherwise) {
  const AttributeValue* value = call.attributes.find(name);
  const auto* integer = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return integer == nullptr ? otherwise : *integer;
}

std::string_view string_or(const OnnxCall& call, std::string_view name,
                           std::string_view otherwise) {
  const AttributeValue* value = call.attributes.find(name);
  const auto* string = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return string == nullptr ? otherwise : std::string_view(*string);
}

Expression reduction_index(DefinitionBuilder& builder, const Dimension& extent,
                           std::vector<Expression>& bound) {
  if (extent.is(1)) return builder.integer(0);
  bound.push_back(builder.variable(extent));
  return bound.back();
}

Expression flat_index(DefinitionBuilder& builder, const Shape& shape,
                      const std::vector<Expression>& indices) {
  Expression position = builder.integer(0);
  for (std::size_t i = 0; i < shape.size(); ++i) position = position * shape[i] + indices[i];
  return position;
}

std::vector<Expression> unflattened(DefinitionBuilder& builder, const Shape& shape,
                                    Expression position) {
  std::vector<Expression> indices(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    indices[i] = i == 0 ? position : builder.floor_mod(position, shape[i]);
    if (i > 0) position = builder.floor_div(position, shape[i]);
  }
  return indices;
}

}  // namespace lemma::operators
