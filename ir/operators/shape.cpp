#include <array>

#include <fmt/format.h>

#include "ir/operators/elementwise.h"
#include "ir/operators/families.h"
#include "ir/operators/reshaping.h"

namespace lemma::operators {
namespace {

// ---- Reshape ----------------------------------------------------------------------------------
//
// In Lemma the shape is explicit: a -1 is resolved when the node is made, and a 0 means 0. The
// ONNX meaning of 0 (copy the size of the input) is resolved at import.

constexpr std::array reshape_attributes = {
    AttributeSpecification{"shape", AttributeKind::dimensions},
};

Result<Attributes> normalize_reshape(const Instance& in) {
  Shape shape = in.attributes.dimensions("shape");
  Dimension* inferred = nullptr;
  Dimension others = 1;
  for (Dimension& size : shape) {
    if (!size.is(-1)) {
      others = others * size;
    } else if (inferred == nullptr) {
      inferred = &size;
    } else {
      return bad_input(fmt::format("shape {} leaves more than one size open", text(shape)));
    }
  }
  if (inferred == nullptr) return in.attributes;
  const Dimension total = element_count(in.shape(0));
  if (others.is(0))
    return bad_input(fmt::format("the open size of shape {} could be anything", text(shape)));
  if (const auto quotient = exact_div(total, others)) {
    *inferred = *quotient;
  } else if (total.is_constant() && others.is_constant()) {
    return bad_input(fmt::format("{} elements do not fit the shape {}", total.text(), text(shape)));
  } else {
    // Divides exactly at run time, or the model is wrong.
    *inferred = floor_div(total, others);
  }
  Attributes attributes = in.attributes;
  attributes.set("shape", std::move(shape));
  return attributes;
}

Result<std::vector<TensorType>> infer_reshape(const Instance& in) {
  const Shape& shape = in.attributes.dimensions("shape");
  const Dimension excess = element_count(shape) - element_count(in.shape(0));
  // Sizes that cannot be compared now are equal at run time, or the model is wrong.
  if (excess.is_constant() && !excess.is(0))
    return bad_input(fmt::format("shape {} does not have as many elements as {}", text(shape),
                                 text(in.shape(0))));
  return std::vector<TensorType>{{in.type(0), shape}};
}

template <InferFunction infer>
Definition define_reshaping(const Instance& in) {
  DefinitionBuilder d;
  const Shape shape = output_shape(in, infer);
  const std::vector<Expression> axes = d.variables(shape);
  d.output(axes, d.read(0, in.type(0), reshaped_indices(d, in.shape(0), shape, axes)));
  return std::move(d).finish();
}

Result<ImportedCall> import_reshape(const OnnxCall& call, ImportedCall imported) {
  if (!imported.attributes.has("shape")) return bad_input("the shape is missing");
  const bool zero_is_zero =
      call.attributes.has("allowzero") && call.attributes.integer("allowzero") != 0;
  Shape shape = imported.attributes.dimensions("shape");
  const auto& input = call.inputs[0].type.shape;
  for (std::size_t i = 0; i < shape.size() && !zero_is_zero; ++i) {
    if (!shape[i].is(0)) continue;
    if (!input) return unsupported("a size is copied from an input of unknown rank");
    if (i >= input->size())
      return bad_input(fmt::format("size {} is copied, but the input has {} axes", i, input->size()));
    shape[i] = (*input)[i];
  }
  imported.attributes.set("shape", std::move(shape));
  return imported;
}

/// One symbolic size is written as -1, which needs no computation at run time.
Result<ExportedCall> export_reshape(const Instance& in, int opset, ExportedCall exported) {
  Shape shape = in.attributes.dimensions("shape");
  std::size_t symbolic = 0;
  bool zero = false;
  for (const Dimension& size : shape) {
    symbolic += size.is_constant() ? 0 : 1;
    zero = zero || size.is(0);
  }
  if (symbolic == 1 && !zero)
    for (Dimension& size : shape)
      if (!size.is_constant()) size = -1;
  if (zero || symbolic > 1) {
    if (opset >= 14)
      exported.attributes.set("allowzero", std::int64_t{1});
    else if (zero)
      return unsupported(fmt::format("operator set {} cannot reshape to {}", opset, text(shape)));
  }
  exported.inputs[1] = OnnxIntegersInput{std::move(shape), false};
  return exported;
}

constexpr std::array reshape_parameters = {OnnxParameter{"shape", 1, 5}};
constexpr std::array reshape_onnx = {OnnxMapping{.name = "Reshape",
                                                 .since = 5,
                                                 .parameters = reshape_parameters,
                                                 .import_hook = import_reshape,
                                                 .export_hook = export_reshape}};

constexpr std::array records = {
    OperatorRecord{.name = "Reshape",
                   .summary = "the same elements in row-major order, in another shape",
                   .attributes = reshape_attributes,
                   .flags = data_movement | view | linear,
                   .infer = infer_reshape,
                   .define = define_reshaping<infer_reshape>,
                   .normalize = normalize_reshape,
                   .onnx = reshape_onnx},
};
static_assert(is_complete(records));

}  // namespace

std::span<const OperatorRecord> shape() { return records; }

}  // namespace lemma::operators
