#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/reshaping.h"

namespace lemma::operators {
namespace {

// ---- Reshape ----------------------------------------------------------------------------------
//
// In Lemma the shape is explicit: a -1 is resolved when the node is made, and a 0 means 0. The
// ONNX meaning of 0 (copy the size of the input) is resolved at import.

constexpr std::array reshape_attributes = {
    AttributeSpecification{"shape", AttributeKind::dimensions, "required",
                           AttributeRole::output_shape},
};

/// What -1 stands for where the other sizes have `others` elements of `total`; that divides exactly at run
/// time, or the model is wrong.
Dimension open_size(const Dimension& total, const Dimension& others) {
  return exact_div(total, others).value_or(floor_div(total, others));
}

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
  if (total.is_constant() && others.is_constant() && !exact_div(total, others))
    return bad_input(fmt::format("{} elements do not fit the shape {}", total.text(), text(shape)));
  *inferred = open_size(total, others);
  Attributes attributes = in.attributes;
  attributes.set("shape", std::move(shape));
  return attributes;
}

Result<std::vector<TensorType>> infer_reshape(const Instance& in) {
  const Shape& shape = in.attributes.dimensions("shape");
  // Sizes that cannot be compared now are equal at run time, or the model is wrong.
  if (!in.are_equal(element_count(shape), element_count(in.shape(0))))
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
      return bad_input(
          fmt::format("size {} is copied, but the input has {} axes", i, input->size()));
    shape[i] = (*input)[i];
  }
  // Readers divide by the other sizes.
  if (std::any_of(shape.begin(), shape.end(), [](const Dimension& size) { return size.is(-1); }))
    for (const Dimension& size : shape)
      if (!size.is_constant()) imported.positive_sizes.push_back(size);
  imported.attributes.set("shape", std::move(shape));
  return imported;
}

/// The only symbolic size, if a reader would infer it from the others.
Dimension* inferable_size(const Shape& input, Shape& shape) {
  Dimension* symbolic = nullptr;
  Dimension others = 1;
  for (Dimension& size : shape) {
    if (size.is(0) || (!size.is_constant() && symbolic != nullptr)) return nullptr;
    if (size.is_constant())
      others = others * size;
    else
      symbolic = &size;
  }
  if (symbolic == nullptr || open_size(element_count(input), others) != *symbolic) return nullptr;
  return symbolic;
}

/// The call with 0 for sizes that the input has at the same places, and -1 for one that is left: nothing is computed at
/// run time. Null if more sizes are left.
std::shared_ptr<const ShorterCall> copying_call(const Instance& in, const ExportedCall& exported) {
  ShorterCall shorter{exported, {}};
  Shape shape = in.attributes.dimensions("shape");
  const Shape& input = in.shape(0);
  Dimension others = 1;
  Dimension* open = nullptr;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is(0)) return nullptr;
    const bool is_copied = !shape[i].is_constant() && i < input.size() && input[i] == shape[i];
    if (!shape[i].is_constant() && !is_copied) {
      if (open != nullptr) return nullptr;
      open = &shape[i];
      continue;
    }
    others = others * shape[i];
    if (!is_copied) continue;
    shorter.positive_sizes.push_back(shape[i]);
    shape[i] = 0;
  }
  if (open == nullptr) {
    shorter.positive_sizes.clear();
  } else {
    if (open_size(element_count(input), others) != *open) return nullptr;
    *open = -1;
  }
  shorter.call.inputs[1] = OnnxIntegersInput{std::move(shape), false};
  return std::make_shared<const ShorterCall>(std::move(shorter));
}

/// One symbolic size is written as -1, which needs no computation at run time.
Result<ExportedCall> export_reshape(const Instance& in, int opset, ExportedCall exported) {
  Shape shape = in.attributes.dimensions("shape");
  bool zero = false;
  for (const Dimension& size : shape) zero = zero || size.is(0);
  if (Dimension* open = inferable_size(in.shape(0), shape)) *open = -1;
  if (zero || std::any_of(shape.begin(), shape.end(),
                          [](const Dimension& size) { return !size.is_constant(); })) {
    exported.shorter = copying_call(in, exported);
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

// ---- Flatten -----------------------------------------------------------------------------------

constexpr std::array flatten_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "1"},
};

/// Unlike other axes this one may equal the rank: everything is then in front of it.
Result<Attributes> normalize_flatten(const Instance& in) {
  const auto rank = static_cast<std::int64_t>(in.rank(0));
  const std::int64_t axis = in.attributes.integer("axis");
  if (axis < -rank || axis > rank)
    return bad_input(fmt::format("axis {} is out of range for {} axes", axis, rank));
  Attributes attributes = in.attributes;
  attributes.set("axis", axis < 0 ? axis + rank : axis);
  return attributes;
}

Result<std::vector<TensorType>> infer_flatten(const Instance& in) {
  Dimension rows = 1, columns = 1;
  for (std::size_t i = 0; i < in.rank(0); ++i) {
    Dimension& side = static_cast<std::int64_t>(i) < in.attributes.integer("axis") ? rows : columns;
    side = side * in.shape(0)[i];
  }
  return std::vector<TensorType>{{in.type(0), Shape{rows, columns}}};
}

constexpr std::array flatten_onnx = {OnnxMapping{.name = "Flatten", .since = 1}};

// ---- Squeeze and Unsqueeze ---------------------------------------------------------------------

constexpr std::array squeeze_attributes = {
    AttributeSpecification{"axes", AttributeKind::integers, "optional", AttributeRole::axes},
};
constexpr std::array unsqueeze_attributes = {
    AttributeSpecification{"axes", AttributeKind::integers, "required", AttributeRole::output_axes},
};

Result<Attributes> normalize_squeeze(const Instance& in) {
  if (in.attributes.has("axes")) return in.attributes;
  Integers axes;
  for (std::size_t i = 0; i < in.rank(0); ++i) {
    if (!in.shape(0)[i].is_constant())
      return unsupported(fmt::format("which sizes of {} are 1 is not known", text(in.shape(0))));
    if (in.shape(0)[i].is(1)) axes.push_back(static_cast<std::int64_t>(i));
  }
  Attributes attributes = in.attributes;
  attributes.set("axes", std::move(axes));
  return attributes;
}

Result<std::vector<TensorType>> infer_squeeze(const Instance& in) {
  const Integers& axes = in.attributes.integers("axes");
  Shape shape;
  for (std::size_t i = 0; i < in.rank(0); ++i) {
    const Dimension& size = in.shape(0)[i];
    if (!contains(axes, static_cast<std::int64_t>(i)))
      shape.push_back(size);
    else if (!in.are_equal(size, 1))
      return bad_input(fmt::format("axis {} of {} does not have size 1", i, text(in.shape(0))));
  }
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_squeeze(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_squeeze));
  std::vector<Expression> indices;
  std::size_t next = 0;
  for (std::size_t i = 0; i < in.rank(0); ++i) {
    const bool gone = contains(in.attributes.integers("axes"), static_cast<std::int64_t>(i));
    indices.push_back(gone ? d.integer(0) : axes[next++]);
  }
  d.output(axes, d.read(0, in.type(0), std::move(indices)));
  return std::move(d).finish();
}

Result<std::vector<TensorType>> infer_unsqueeze(const Instance& in) {
  const Integers& axes = in.attributes.integers("axes");
  Shape shape;
  std::size_t next = 0;
  for (std::size_t i = 0; i < in.rank(0) + axes.size(); ++i)
    shape.push_back(contains(axes, static_cast<std::int64_t>(i)) ? Dimension(1)
                                                                 : in.shape(0)[next++]);
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_unsqueeze(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_unsqueeze));
  std::vector<Expression> indices;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (!contains(in.attributes.integers("axes"), static_cast<std::int64_t>(i)))
      indices.push_back(axes[i]);
  d.output(axes, d.read(0, in.type(0), std::move(indices)));
  return std::move(d).finish();
}

/// ONNX may read an empty list as every axis of size 1.
Result<ExportedCall> export_squeeze(const Instance& in, int, ExportedCall exported) {
  if (!in.attributes.integers("axes").empty()) return exported;
  exported.name = "Identity";
  exported.attributes = {};
  exported.inputs.resize(1);
  return exported;
}

constexpr std::array axes_parameters = {OnnxParameter{"axes", 1, 13}};
constexpr std::array squeeze_onnx = {OnnxMapping{
    .name = "Squeeze", .since = 1, .parameters = axes_parameters, .export_hook = export_squeeze}};
constexpr std::array unsqueeze_onnx = {
    OnnxMapping{.name = "Unsqueeze", .since = 1, .parameters = axes_parameters}};

// ---- Expand ------------------------------------------------------------------------------------
//
// In Lemma the shape is that of the result; in ONNX it is broadcast against the input's.

Result<Attributes> normalize_expand(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(Shape shape, broadcast(in.shape(0), in.attributes.dimensions("shape")));
  Attributes attributes = in.attributes;
  attributes.set("shape", std::move(shape));
  return attributes;
}

Result<std::vector<TensorType>> infer_expand(const Instance& in) {
  const Shape& shape = in.attributes.dimensions("shape");
  LEMMA_ASSIGN_OR_RETURN(const bool fits, broadcasts_to(in, in.shape(0), shape));
  if (!fits)
    return bad_input(fmt::format("{} cannot be broadcast to {}", text(in.shape(0)), text(shape)));
  return std::vector<TensorType>{{in.type(0), shape}};
}

Definition define_expand(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.attributes.dimensions("shape"));
  d.output(axes, read_broadcast(d, in, 0, axes));
  return std::move(d).finish();
}

constexpr std::array expand_parameters = {OnnxParameter{"shape", 1, 1}};
constexpr std::array expand_onnx = {
    OnnxMapping{.name = "Expand", .since = 8, .parameters = expand_parameters}};

// ---- Shape and Size ----------------------------------------------------------------------------

constexpr std::array shape_attributes = {
    AttributeSpecification{"end", AttributeKind::integer, "optional"},
    AttributeSpecification{"start", AttributeKind::integer, "0"},
};

/// Both ends count from the end where negative, and are then brought into the range 0 .. rank.
Result<Attributes> normalize_shape(const Instance& in) {
  const auto rank = static_cast<std::int64_t>(in.rank(0));
  auto clamp = [rank](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  Attributes attributes = in.attributes;
  attributes.set("start", clamp(in.attributes.integer("start")));
  attributes.set("end", in.attributes.has("end") ? clamp(in.attributes.integer("end")) : rank);
  return attributes;
}

Result<std::vector<TensorType>> infer_shape(const Instance& in) {
  const std::int64_t start = in.attributes.integer("start"), end = in.attributes.integer("end");
  return std::vector<TensorType>{{DataType::i64, Shape{std::max<std::int64_t>(end - start, 0)}}};
}

Definition define_shape(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_shape));
  const std::int64_t start = in.attributes.integer("start"), end = in.attributes.integer("end");
  auto size = [&](std::int64_t axis) {
    return d.extent(in.shape(0)[static_cast<std::size_t>(axis)]);
  };
  Expression value = end > start ? size(end - 1) : d.integer(0);
  for (std::int64_t axis = end - 2; axis >= start; --axis)
    value = d.select(axes[0] == d.integer(axis - start), size(axis), value);
  d.output(axes, value);
  return std::move(d).finish();
}

Result<ExportedCall> export_shape(const Instance& in, int opset, ExportedCall exported) {
  const bool whole = in.attributes.integer("start") == 0 &&
                     in.attributes.integer("end") == static_cast<std::int64_t>(in.rank(0));
  if (whole) exported.attributes = {};
  if (!whole && opset < 15)
    return unsupported(fmt::format("operator set {} has no shape of some axes", opset));
  return exported;
}

constexpr std::array shape_onnx = {
    OnnxMapping{.name = "Shape", .since = 1, .export_hook = export_shape}};

Result<std::vector<TensorType>> infer_size(const Instance&) {
  return std::vector<TensorType>{{DataType::i64, Shape{}}};
}

Definition define_size(const Instance& in) {
  DefinitionBuilder d;
  d.output({}, d.extent(element_count(in.shape(0))));
  return std::move(d).finish();
}

constexpr std::array shape_records = {
    OperatorRecord{.name = "Expand",
                   .summary = "repeated along axes of size 1, to a shape",
                   .attributes = reshape_attributes,
                   .flags = data_movement | linear | broadcasting,
                   .infer = infer_expand,
                   .define = define_expand,
                   .normalize = normalize_expand,
                   .onnx = expand_onnx},
    OperatorRecord{.name = "Flatten",
                   .summary = "a matrix: the axes in front of an axis are one, the others are one",
                   .attributes = flatten_attributes,
                   .flags = data_movement | view | linear,
                   .infer = infer_flatten,
                   .define = define_reshaping<infer_flatten>,
                   .normalize = normalize_flatten,
                   .onnx = flatten_onnx},
    OperatorRecord{.name = "Reshape",
                   .summary = "the same elements in row-major order, in another shape",
                   .attributes = reshape_attributes,
                   .flags = data_movement | view | linear,
                   .infer = infer_reshape,
                   .define = define_reshaping<infer_reshape>,
                   .normalize = normalize_reshape,
                   .onnx = reshape_onnx},
    OperatorRecord{.name = "Shape",
                   .summary = "the sizes of the axes from start to end",
                   .attributes = shape_attributes,
                   .infer = infer_shape,
                   .define = define_shape,
                   .normalize = normalize_shape,
                   .onnx = shape_onnx},
    OperatorRecord{.name = "Size",
                   .summary = "the number of elements",
                   .infer = infer_size,
                   .define = define_size,
                   .onnx = same_in_onnx<"Size">},
    OperatorRecord{.name = "Squeeze",
                   .summary = "without some axes of size 1",
                   .attributes = squeeze_attributes,
                   .flags = data_movement | view | linear,
                   .infer = infer_squeeze,
                   .define = define_squeeze,
                   .normalize = normalize_squeeze,
                   .onnx = squeeze_onnx},
    OperatorRecord{.name = "Unsqueeze",
                   .summary = "with additional axes of size 1",
                   .attributes = unsqueeze_attributes,
                   .flags = data_movement | view | linear,
                   .infer = infer_unsqueeze,
                   .define = define_unsqueeze,
                   .onnx = unsqueeze_onnx},
};
static_assert(is_complete(shape_records));

}  // namespace

std::span<const OperatorRecord> shape() { return shape_records; }

}  // namespace lemma::operators
