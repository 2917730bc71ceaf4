#include "operators/composition.h"

namespace lemma::operators {
namespace {

template <typename T>
Constant single(DataType type, const std::vector<std::int64_t>& sizes, T value) {
  return Constant::of(type, sizes, std::vector<T>{value});
}

}  // namespace

Constant constant_of_value(DataType type, double value, const std::vector<std::int64_t>& sizes) {
  if (type == DataType::f32) return single(type, sizes, static_cast<float>(value));
  if (type == DataType::f64) return single(type, sizes, value);
  if (type == DataType::f16) return single(type, sizes, f32_to_f16(static_cast<float>(value)));
  if (type == DataType::bf16) return single(type, sizes, f32_to_bf16(static_cast<float>(value)));
  if (type == DataType::u64) return single(type, sizes, static_cast<std::uint64_t>(value));
  // The low bytes of a two's complement integer are the integer of the narrower type.
  const auto integer = static_cast<std::int64_t>(value);
  switch (bits(type)) {
    case 8: return single(type, sizes, static_cast<std::uint8_t>(integer));
    case 16: return single(type, sizes, static_cast<std::uint16_t>(integer));
    case 32: return single(type, sizes, static_cast<std::uint32_t>(integer));
    default: return single(type, sizes, integer);
  }
}

Integers axes_between(std::int64_t first, std::int64_t last) {
  Integers axes;
  for (std::int64_t axis = first; axis < last; ++axis) axes.push_back(axis);
  return axes;
}

ValueId Composer::operator()(std::string_view op, std::vector<ValueId> inputs,
                             Attributes attributes) {
  if (error_) return ValueId::none();
  auto result = graph_.add(op, std::move(inputs), std::move(attributes));
  if (result) return *result;
  error_ = std::move(result.error());
  return ValueId::none();
}

ValueId Composer::scalar(double value, DataType type) {
  if (!is_real(type)) return constant(constant_of_value(type, value));
  return scalar(Real(value), type);
}

ValueId Composer::scalar(Real value, DataType type) {
  return scalar(type, [&](DefinitionBuilder& d) { return d.real(value, type); });
}

ValueId Composer::scalar(DataType type,
                         const std::function<Expression(DefinitionBuilder&)>& expression) {
  return constant(exact_scalar(type, expression));
}

ValueId Composer::scaled(ValueId value, Real factor) {
  if (error_ || factor.is_written(1)) return value;
  return multiply(value, scalar(factor, graph_.type(value).data_type));
}

ValueId Composer::inverse_root(const Dimension& size, DataType type) {
  return scalar(type, [&](DefinitionBuilder& d) {
    const Expression root =
        d.apply(ScalarFunction::sqrt, d.real(static_cast<double>(size.offset()), type));
    return d.apply(ScalarFunction::reciprocal, root);
  });
}

ValueId Composer::cast(ValueId value, DataType type) {
  if (error_ || graph_.type(value).data_type == type) return value;
  return (*this)("Cast", {value}, {{"to", type}});
}

ValueId Composer::positions(const Shape& shape, std::int64_t axis) {
  const auto following = static_cast<std::int64_t>(shape.size()) - axis;
  const ValueId range = (*this)("Range", {}, {{"limit", shape[static_cast<std::size_t>(axis)]}});
  return (*this)("Unsqueeze", {range}, {{"axes", axes_between(1, following)}});
}

ValueId Composer::channels(ValueId vector, std::size_t rank) {
  const Integers axes = axes_between(1, static_cast<std::int64_t>(rank) - 1);
  return (*this)("Unsqueeze", {vector}, {{"axes", axes}});
}

Result<std::vector<ValueId>> Composer::outputs(std::vector<ValueId> values) {
  if (error_) return tl::unexpected<Error>(*error_);
  return values;
}

}  // namespace lemma::operators
