#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/runtime_names.h"

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

constexpr AttributeSpecification epsilon_attribute = {"epsilon", AttributeKind::real,
                                                      "9.999999747378752e-06"};

// ---- What they share ---------------------------------------------------------------------------

/// The values on the way from x to its normal form over some axes.
struct Standardized {
  ValueId mean, inverse_deviation, result;
};

/// (x - mean) / sqrt(variance + epsilon), over `axes`.
Standardized standardize(Composer& c, ValueId x, const Integers& axes, ValueId epsilon) {
  const Attributes over = {{"axes", axes}};
  Standardized s;
  s.mean = c("ReduceMean", {x}, over);
  const ValueId deviation = c.subtract(x, s.mean);
  const ValueId variance = c("ReduceMean", {c.multiply(deviation, deviation)}, over);
  s.inverse_deviation = c("Reciprocal", {c.sqrt(c.add(variance, epsilon))});
  s.result = c.multiply(deviation, s.inverse_deviation);
  return s;
}

/// Operands from `first` on are vectors with an element for each channel (axis 1 of input 0).
Result<void> require_channel_vectors(const Instance& in, std::size_t first) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  for (std::size_t i = first; i < in.inputs.size(); ++i) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, i, 1, 1));
    LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(i)[0], in.shape(0)[1], "channels"));
  }
  return {};
}

Types infer_per_channel(const Instance& in) {
  for (std::size_t i = 1; i < in.inputs.size(); ++i)
    if (in.type(i) != in.type(0) && is_real(in.type(i)))
      return unsupported(fmt::format("statistics of type {} for elements of type {}",
                                     name(in.type(i)), name(in.type(0))));
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_channel_vectors(in, 1));
  return infer_same(in);
}

// ---- LayerNormalization and RMSNormalization ---------------------------------------------------
//
// Statistics are computed in the element type `stash_type`.

constexpr std::array layer_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "-1", AttributeRole::axis},
    epsilon_attribute,
    AttributeSpecification{"stash_type", AttributeKind::data_type, "f32"},
};

Integers axes_from(const Instance& in) {
  return axes_between(in.attributes.integer("axis"), static_cast<std::int64_t>(in.rank(0)));
}

/// The operands are of one type, and scale and bias can be broadcast to input 0.
Result<void> check_layer(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  if (!is_real(in.attributes.data_type("stash_type")))
    return bad_input(fmt::format("stash_type is {}", name(in.attributes.data_type("stash_type"))));
  for (std::size_t i = 1; i < in.inputs.size(); ++i) {
    if (!in.has(i)) continue;
    LEMMA_ASSIGN_OR_RETURN(const bool fits, broadcasts_to(in, in.shape(i), in.shape(0)));
    if (!fits)
      return bad_input(fmt::format("scale or bias exceeds the shape {}", text(in.shape(0))));
  }
  return {};
}

Types infer_layer(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_layer(in));
  Shape statistics = in.shape(0);
  for (const std::int64_t axis : axes_from(in)) statistics[static_cast<std::size_t>(axis)] = 1;
  std::vector<TensorType> types(in.output_count,
                                {in.attributes.data_type("stash_type"), statistics});
  types[0] = in.inputs[0];
  return types;
}

Compose compose_layer(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const DataType stash = in.attributes.data_type("stash_type");
  const ValueId epsilon = c.scalar(in.attributes.real("epsilon"), stash);
  const Standardized s = standardize(c, c.cast(inputs[0], stash), axes_from(in), epsilon);
  ValueId result = c.multiply(c.cast(s.result, in.type(0)), inputs[1]);
  if (in.has(2)) result = c.add(result, inputs[2]);
  std::vector<ValueId> outputs = {result, s.mean, s.inverse_deviation};
  outputs.resize(in.output_count);
  return c.outputs(std::move(outputs));
}

Types infer_rms(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_layer(in));
  return infer_same(in);
}

Compose compose_rms(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const DataType stash = in.attributes.data_type("stash_type");
  const ValueId x = c.cast(inputs[0], stash);
  const ValueId square = c("ReduceMean", {c.multiply(x, x)}, {{"axes", axes_from(in)}});
  const ValueId root = c.sqrt(c.add(square, c.scalar(in.attributes.real("epsilon"), stash)));
  return c.outputs({c.multiply(c.cast(c.divide(x, root), in.type(0)), inputs[1])});
}

/// The mean square as exporters write it: powers where the composition multiplies, a quotient where it
/// has a reciprocal.
ValueId mean_square(Composer& c, ValueId x, const Attributes& over) {
  const DataType type = c.type(x).data_type;
  return c("ReduceMean", {c("Pow", {x, c.scalar(2, type)})}, over);
}
ValueId over_root(Composer& c, const Instance& in, ValueId x, ValueId square) {
  return c.divide(
      x, c.sqrt(c.add(square, c.scalar(in.attributes.real("epsilon"), c.type(x).data_type))));
}

Compose spell_layer(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  if (in.output_count > 1 || in.type(0) != in.attributes.data_type("stash_type"))
    return compose_layer(graph, in, inputs);
  Composer c(graph);
  const Attributes over = {{"axes", axes_from(in)}};
  const ValueId deviation = c.subtract(inputs[0], c("ReduceMean", {inputs[0]}, over));
  const ValueId normal = over_root(c, in, deviation, mean_square(c, deviation, over));
  const ValueId scaled = c.multiply(normal, inputs[1]);
  if (in.has(2)) return c.outputs({c.add(scaled, inputs[2])});
  // Runtimes look for a sum, be it with zeros.
  const auto sizes = constant_sizes(in.shape(1));
  if (!sizes || element_count(in.shape(1)).is(0)) return c.outputs({scaled});
  const ValueId zeros =
      c("ConstantOfShape", {}, {{"shape", in.shape(1)}, {"data_type", in.type(0)}, {"value", 0.0}});
  return c.outputs({c.add(scaled, zeros)});
}

Compose spell_rms(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  if (in.type(0) != in.attributes.data_type("stash_type")) return compose_rms(graph, in, inputs);
  Composer c(graph);
  const ValueId square = mean_square(c, inputs[0], {{"axes", axes_from(in)}});
  return c.outputs({c.multiply(over_root(c, in, inputs[0], square), inputs[1])});
}

/// Before operator set 17 files of ONNX Runtime have the operator in the domain of ONNX, and
/// `SimplifiedLayerNormalization` in all.
constexpr std::array layer_onnx = {
    OnnxMapping{.name = "LayerNormalization", .since = 17},
    OnnxMapping{.name = "LayerNormalization", .until = 16, .runtime = onnx_runtime}};
constexpr std::array rms_onnx = {
    OnnxMapping{.name = "RMSNormalization", .since = 23},
    OnnxMapping{.name = "SimplifiedLayerNormalization", .runtime = onnx_runtime}};

// ---- InstanceNormalization ---------------------------------------------------------------------

constexpr std::array epsilon_attributes = {epsilon_attribute};

Compose compose_instance(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId epsilon = c.scalar(in.attributes.real("epsilon"), in.type(0));
  const Integers spatial = axes_between(2, static_cast<std::int64_t>(in.rank(0)));
  const ValueId normal = standardize(c, inputs[0], spatial, epsilon).result;
  const ValueId scaled = c.multiply(normal, c.channels(inputs[1], in.rank(0)));
  return c.outputs({c.add(scaled, c.channels(inputs[2], in.rank(0)))});
}

// ---- GroupNormalization ------------------------------------------------------------------------
//
// Scale and bias are given for each channel since operator set 21, and were for each group before.

constexpr std::array group_attributes = {
    epsilon_attribute,
    AttributeSpecification{"num_groups", AttributeKind::integer},
    AttributeSpecification{"stash_type", AttributeKind::data_type, "f32"},
};
constexpr std::array group_18_attributes = {
    epsilon_attribute,
    AttributeSpecification{"num_groups", AttributeKind::integer},
};

Result<void> check_groups(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  const std::int64_t groups = in.attributes.integer("num_groups");
  if (groups < 1) return bad_input(fmt::format("num_groups is {}", groups));
  const Dimension& channels = in.shape(0)[1];
  if (!in.assumes(ConstraintKind::divides, groups, channels) && !exact_div(channels, groups))
    return bad_input(fmt::format("{} channels do not make {} groups", channels.text(), groups));
  return {};
}

Types infer_group(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_groups(in));
  LEMMA_RETURN_IF_ERROR(require_channel_vectors(in, 1));
  return infer_same(in);
}

Types infer_group_18(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_groups(in));
  for (std::size_t i = 1; i < 3; ++i) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, i, 1, 1));
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(i)[0], in.attributes.integer("num_groups"), "groups"));
  }
  return infer_same(in);
}

/// Input 0 as [batch, group, element], normalized over the elements.
ValueId normalized_groups(Composer& c, const Instance& in, ValueId x, DataType type) {
  const Dimension groups = in.attributes.integer("num_groups");
  const Shape& shape = in.shape(0);
  const Dimension per_group =
      *exact_div(shape[1], groups) * element_count(Shape(shape.begin() + 2, shape.end()));
  const ValueId grouped = c("Reshape", {x}, {{"shape", Shape{shape[0], groups, per_group}}});
  const ValueId epsilon = c.scalar(in.attributes.real("epsilon"), type);
  return standardize(c, c.cast(grouped, type), {2}, epsilon).result;
}

Compose compose_group(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId normal = normalized_groups(c, in, inputs[0], in.attributes.data_type("stash_type"));
  const ValueId back = c("Reshape", {c.cast(normal, in.type(0))}, {{"shape", in.shape(0)}});
  const ValueId scaled = c.multiply(back, c.channels(inputs[1], in.rank(0)));
  return c.outputs({c.add(scaled, c.channels(inputs[2], in.rank(0)))});
}

Compose compose_group_18(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId normal = normalized_groups(c, in, inputs[0], in.type(0));
  const ValueId scaled = c.multiply(normal, c.channels(inputs[1], 3));
  const ValueId shifted = c.add(scaled, c.channels(inputs[2], 3));
  return c.outputs({c("Reshape", {shifted}, {{"shape", in.shape(0)}})});
}

constexpr std::array group_onnx = {OnnxMapping{.name = "GroupNormalization", .since = 21}};
constexpr std::array group_18_onnx = {
    OnnxMapping{.name = "GroupNormalization", .since = 18, .until = 20}};

// ---- BatchNormalization ------------------------------------------------------------------------
//
// Inputs: x, scale, bias, mean, variance. In inference the given statistics are used; in training
// those of x, and the given ones move towards them.

constexpr std::array batch_training_attributes = {
    epsilon_attribute,
    AttributeSpecification{"momentum", AttributeKind::real, "0.8999999761581421"},
};

ValueId normalize_batch(Composer& c, const Instance& in, std::span<const ValueId> inputs,
                        ValueId mean, ValueId variance) {
  const ValueId epsilon = c.scalar(in.attributes.real("epsilon"), in.type(0));
  const ValueId centred = c.subtract(inputs[0], mean);
  const ValueId normal = c.divide(centred, c.sqrt(c.add(variance, epsilon)));
  const ValueId scaled = c.multiply(normal, c.channels(inputs[1], in.rank(0)));
  return c.add(scaled, c.channels(inputs[2], in.rank(0)));
}

Compose compose_batch(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  return c.outputs({normalize_batch(c, in, inputs, c.channels(inputs[3], in.rank(0)),
                                    c.channels(inputs[4], in.rank(0)))});
}

Types infer_batch_training(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(infer_per_channel(in));
  std::vector<TensorType> types(in.output_count, {in.type(0), Shape{in.shape(0)[1]}});
  types[0] = in.inputs[0];
  return types;
}

Compose compose_batch_training(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  Integers axes = axes_between(0, static_cast<std::int64_t>(in.rank(0)));
  axes.erase(axes.begin() + 1);
  const ValueId mean = c("ReduceMean", {inputs[0]}, {{"axes", axes}});
  const ValueId centred = c.subtract(inputs[0], mean);
  const ValueId variance = c("ReduceMean", {c.multiply(centred, centred)}, {{"axes", axes}});
  const DataType type = in.type(0);
  const Real momentum = in.attributes.real("momentum");
  const ValueId old_part = c.scalar(momentum, type);
  const ValueId new_part = c.scalar(
      type, [&](DefinitionBuilder& d) { return d.real(1, type) - d.real(momentum, type); });
  auto moved = [&](ValueId before, ValueId now) {
    const ValueId vector = c("Squeeze", {now}, {{"axes", axes}});
    return c.add(c.multiply(before, old_part), c.multiply(vector, new_part));
  };
  std::vector<ValueId> outputs = {normalize_batch(c, in, inputs, mean, variance)};
  if (in.output_count > 1) outputs.push_back(moved(inputs[3], mean));
  if (in.output_count > 2) outputs.push_back(moved(inputs[4], variance));
  return c.outputs(std::move(outputs));
}

Result<ImportedCall> import_batch(const OnnxCall& call, ImportedCall imported) {
  const Attributes& given = call.attributes;
  if (given.has("spatial") && given.integer("spatial") == 0)
    return unsupported("statistics for each position");
  if (call.opset < 7 && (!given.has("is_test") || given.integer("is_test") == 0))
    return unsupported("training mode");
  if (given.has("training_mode") && given.integer("training_mode") != 0)
    return unsupported("training mode");
  // Before set 14 a node that names more outputs is in training mode, whether or not something uses them.
  if (call.output_count > 1 || (call.opset < 14 && call.used_outputs.size() > 1))
    return unsupported("statistics as outputs");
  return imported;
}

Result<ExportedCall> export_batch(const Instance&, int opset, ExportedCall exported) {
  if (opset < 7) exported.attributes.set("is_test", std::int64_t{1});
  return exported;
}

Result<ImportedCall> import_batch_training(const OnnxCall& call, ImportedCall imported) {
  if (!call.attributes.has("training_mode") || call.attributes.integer("training_mode") == 0)
    return unsupported("inference mode");
  return imported;
}

Result<ExportedCall> export_batch_training(const Instance&, int, ExportedCall exported) {
  exported.attributes.set("training_mode", std::int64_t{1});
  return exported;
}

constexpr std::array batch_onnx = {OnnxMapping{.name = "BatchNormalization",
                                               .since = 6,
                                               .import_hook = import_batch,
                                               .export_hook = export_batch,
                                               .outputs = 5}};  // of training, before set 14
constexpr std::array batch_training_onnx = {OnnxMapping{.name = "BatchNormalization",
                                                        .since = 14,
                                                        .import_hook = import_batch_training,
                                                        .export_hook = export_batch_training}};

// ---- LpNormalization ---------------------------------------------------------------------------

constexpr std::array lp_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "-1", AttributeRole::axis},
    AttributeSpecification{"p", AttributeKind::integer, "2"},
};

Types infer_lp(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::real));
  const std::int64_t p = in.attributes.integer("p");
  if (p != 1 && p != 2) return bad_input(fmt::format("p is {}, not 1 or 2", p));
  return infer_same(in);
}

/// x / |x|, and 0 where the norm is 0.
Compose compose_lp(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId x = inputs[0], zero = c.scalar(0, in.type(0));
  const bool first = in.attributes.integer("p") == 1;
  const ValueId norm =
      c(first ? "ReduceL1" : "ReduceL2", {x}, {{"axes", Integers{in.attributes.integer("axis")}}});
  return c.outputs({c("Where", {c("Equal", {norm, zero}), zero, c.divide(x, norm)})});
}

// ---- LRN ---------------------------------------------------------------------------------------

constexpr std::array lrn_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real, "9.999999747378752e-05"},
    AttributeSpecification{"beta", AttributeKind::real, "0.75"},
    AttributeSpecification{"bias", AttributeKind::real, "1.0"},
    AttributeSpecification{"size", AttributeKind::integer},
};

Types infer_lrn(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  if (in.attributes.integer("size") < 1)
    return bad_input(fmt::format("size is {}", in.attributes.integer("size")));
  return infer_same(in);
}

/// Each element is divided by a power of the squares in the same place of nearby channels.
Definition define_lrn(const Instance& in) {
  DefinitionBuilder d;
  const DataType type = in.type(0);
  const std::int64_t size = in.attributes.integer("size");
  const std::vector<Expression> axes = d.variables(in.shape(0));
  const Expression near = d.variable(size);
  std::vector<Expression> indices = axes;
  indices[1] = axes[1] + near - Dimension((size - 1) / 2);
  const Expression other = d.read(0, type, indices);
  const Expression squares = d.sum(
      {near}, d.select(d.in_range(indices[1], in.shape(0)[1]), other * other, d.real(0, type)));
  const Expression factor =
      d.real(in.attributes.real("alpha"), type) / d.real(static_cast<double>(size), type);
  const Expression base = d.real(in.attributes.real("bias"), type) + factor * squares;
  const Expression divisor =
      d.binary(ExpressionKind::power, base, d.real(in.attributes.real("beta"), type));
  d.output(axes, d.read(0, type, axes) / divisor);
  return std::move(d).finish();
}

// ---- MeanVarianceNormalization -----------------------------------------------------------------

constexpr std::array mean_variance_attributes = {
    AttributeSpecification{"axes", AttributeKind::integers, "[0, 2, 3]", AttributeRole::axes},
};

Types infer_mean_variance(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::real));
  return infer_same(in);
}

/// (x - mean x) / (sqrt(mean x^2 - (mean x)^2) + 1e-9)
Compose compose_mean_variance(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId x = inputs[0];
  const Attributes over = {{"axes", in.attributes.integers("axes")}};
  const ValueId mean = c("ReduceMean", {x}, over);
  const ValueId mean_square = c("ReduceMean", {c.multiply(x, x)}, over);
  const ValueId deviation = c.sqrt(c.subtract(mean_square, c.multiply(mean, mean)));
  const ValueId divisor = c.add(deviation, c.scalar(1e-9, in.type(0)));
  return c.outputs({c.divide(c.subtract(x, mean), divisor)});
}

constexpr std::array group_18_examples = {
    OperatorExample{"f32[N, 4, H, W]; f32[2]; f32[2]", "num_groups=2"},
    OperatorExample{"f32[N, C]; f32[1]; f32[1]", "num_groups=1"},
    OperatorExample{"f16[N, 6, L]; f16[3]; f16[3]", "num_groups=3"},
};

constexpr std::array normalization_records = {
    OperatorRecord{.name = "BatchNormalization",
                   .summary = "channels shifted and scaled by given means and variances",
                   .inputs = {5, 5},
                   .attributes = epsilon_attributes,
                   .flags = spatial,
                   .infer = infer_per_channel,
                   .compose = compose_batch,
                   .onnx = batch_onnx},
    OperatorRecord{.name = "BatchNormalizationTraining",
                   .summary = "channels with mean 0 and variance 1; moving means and variances",
                   .inputs = {5, 5},
                   .outputs = {1, 3},
                   .attributes = batch_training_attributes,
                   .infer = infer_batch_training,
                   .compose = compose_batch_training,
                   .onnx = batch_training_onnx},
    OperatorRecord{.name = "GroupNormalization",
                   .summary = "groups of channels with mean 0 and variance 1, scaled by channel",
                   .inputs = {3, 3},
                   .attributes = group_attributes,
                   .infer = infer_group,
                   .compose = compose_group,
                   .onnx = group_onnx},
    OperatorRecord{.name = "GroupNormalizationByGroup",
                   .summary = "groups of channels with mean 0 and variance 1, scaled by group",
                   .inputs = {3, 3},
                   .attributes = group_18_attributes,
                   .infer = infer_group_18,
                   .compose = compose_group_18,
                   .onnx = group_18_onnx,
                   .examples = group_18_examples},
    OperatorRecord{.name = "InstanceNormalization",
                   .summary = "each channel of each instance with mean 0 and variance 1, scaled",
                   .inputs = {3, 3},
                   .attributes = epsilon_attributes,
                   .infer = infer_per_channel,
                   .compose = compose_instance,
                   .onnx = same_in_onnx<"InstanceNormalization", 6>},
    OperatorRecord{.name = "LRN",
                   .summary = "divided by a power of the squares in nearby channels",
                   .attributes = lrn_attributes,
                   .infer = infer_lrn,
                   .define = define_lrn,
                   .onnx = same_in_onnx<"LRN">},
    OperatorRecord{.name = "LayerNormalization",
                   .summary = "mean 0 and variance 1 from an axis on, scaled and shifted",
                   .inputs = {2, 3},
                   .outputs = {1, 3},
                   .attributes = layer_attributes,
                   .infer = infer_layer,
                   .compose = compose_layer,
                   .onnx = layer_onnx,
                   .spelling = spell_layer},
    OperatorRecord{.name = "LpNormalization",
                   .summary = "divided by the norm along an axis",
                   .attributes = lp_attributes,
                   .infer = infer_lp,
                   .compose = compose_lp,
                   .onnx = same_in_onnx<"LpNormalization">},
    OperatorRecord{.name = "MeanVarianceNormalization",
                   .summary = "mean 0 and variance 1 over axes",
                   .attributes = mean_variance_attributes,
                   .infer = infer_mean_variance,
                   .compose = compose_mean_variance,
                   .onnx = same_in_onnx<"MeanVarianceNormalization", 9>},
    OperatorRecord{.name = "RMSNormalization",
                   .summary = "divided by the root of the mean square from an axis on, scaled",
                   .inputs = {2, 2},
                   .attributes = layer_attributes,
                   .infer = infer_rms,
                   .compose = compose_rms,
                   .onnx = rms_onnx,
                   .spelling = spell_rms},
};
static_assert(is_complete(normalization_records));

}  // namespace

std::span<const OperatorRecord> normalization() { return normalization_records; }

}  // namespace lemma::operators
