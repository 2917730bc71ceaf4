#pragma once
// Short forms for records that differ only in name and formula.

#include <algorithm>
#include <array>
#include <string_view>

#include "operators/helpers.h"

namespace lemma::operators {

/// A name as a template argument, so that what is made from it can be a constant.
template <std::size_t N>
struct StaticName {
  /// From a literal, with its zero byte.
  constexpr StaticName(const char (&characters)[N]) { std::copy_n(characters, N, text.begin()); }
  constexpr std::string_view view() const { return {text.data(), N - 1}; }  // without the zero byte
  std::array<char, N> text = {};  // a template argument has no private members
};

/// ONNX has the operator under this name, with the same operands and attributes.
template <StaticName name, int since = 1>
inline constexpr std::array same_in_onnx = {OnnxMapping{.name = name.view(), .since = since}};

/// Before operator set 7 the second operand was broadcast along axes that an attribute named.
/// Accepted where that is what broadcasting is today.
Result<ImportedCall> import_early_broadcast(const OnnxCall& call, ImportedCall imported);
/// For such sets. Unsupported where the first operand would have to be broadcast.
Result<ExportedCall> export_early_broadcast(const Instance& in, int opset, ExportedCall exported);

/// ONNX has the operator under this name with broadcasting: today's from set 7 on, and the early one before.
template <StaticName name>
inline constexpr std::array broadcast_in_onnx = {
    OnnxMapping{.name = name.view(), .since = 7},
    OnnxMapping{.name = name.view(),
                .since = 1,
                .until = 6,
                .import_hook = import_early_broadcast,
                .export_hook = export_early_broadcast}};

/// infer_elementwise() with its types as a template argument, as records need it.
template <TypeSet types>
Result<std::vector<TensorType>> infer_elementwise_of(const Instance& in) {
  return infer_elementwise(in, types);
}

/// define_elementwise() with its body as a template argument, as records need it.
template <ElementBody body>
Definition define_by(const Instance& in) {
  return define_elementwise(in, body);
}

/// A body for unary_record(): the function of the operand.
template <ScalarFunction function>
Expression apply_scalar(DefinitionBuilder& d, const Instance&, std::vector<Expression> x) {
  return d.apply(function, x[0]);
}

/// An elementwise operator of one operand, without attributes.
template <StaticName name, TypeSet types, ElementBody body, int since = 1>
constexpr OperatorRecord unary_record(std::string_view summary, std::uint32_t flags = no_flags) {
  return {.name = name.view(),
          .summary = summary,
          .flags = flags | elementwise,
          .infer = infer_elementwise_of<types>,
          .define = define_by<body>,
          .onnx = same_in_onnx<name, since>};
}

/// The same with attributes.
template <StaticName name, TypeSet types, ElementBody body, int since = 1>
constexpr OperatorRecord unary_record(std::string_view summary,
                                      std::span<const AttributeSpecification> attributes,
                                      std::uint32_t flags = no_flags) {
  OperatorRecord result = unary_record<name, types, body, since>(summary, flags);
  result.attributes = attributes;
  return result;
}

/// An elementwise operator of two operands of one type, broadcast against each other.
template <StaticName name, TypeSet types, ElementBody body, int since = 7>
constexpr OperatorRecord binary_record(std::string_view summary, std::uint32_t flags = no_flags) {
  OperatorRecord result = unary_record<name, types, body, since>(summary, flags);
  result.inputs = {2, 2};
  if (since == 7) result.onnx = broadcast_in_onnx<name>;
  return result;
}

}  // namespace lemma::operators
