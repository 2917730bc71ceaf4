#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/runtime_names.h"
#include "operators/sizes.h"

// Operators that ONNX Runtime makes of several of ONNX: products and convolutions with what follows them. The shape
// rules and ONNX forms of their main parts are those of the records of these.

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

const OperatorRecord& known(std::string_view name) { return record(operator_named(name)); }

/// The attributes that the operator has as well.
Attributes attributes_for(std::string_view op, const Attributes& given) {
  Attributes result;
  for (const AttributeSpecification& specification : known(op).attributes)
    if (const AttributeValue* value = given.find(specification.name))
      result.set(std::string(specification.name), *value);
  return result;
}

// ---- Activations -------------------------------------------------------------------------------

/// An elementwise operator that is computed along with a product or a convolution, and its attributes in the order in
/// which the fused operator lists them.
struct Activation {
  std::string_view op;
  std::array<std::string_view, 2> parameters = {};
};
constexpr std::array activations = {
    Activation{"Clip", {"min", "max"}},
    Activation{"Elu", {"alpha"}},
    Activation{"HardSigmoid", {"alpha", "beta"}},
    Activation{"LeakyRelu", {"alpha"}},
    Activation{"Relu"},
    Activation{"Selu", {"alpha", "gamma"}},
    Activation{"Sigmoid"},
    Activation{"Softplus"},
    Activation{"Softsign"},
    Activation{"Tanh"},
    Activation{"ThresholdedRelu", {"alpha"}},
};
constexpr std::array conv_activations = {
    std::string_view(""),          std::string_view("Clip"), std::string_view("HardSigmoid"),
    std::string_view("LeakyRelu"), std::string_view("Relu"), std::string_view("Sigmoid"),
    std::string_view("Tanh")};
constexpr std::array gemm_activations = {std::string_view(""),
                                         std::string_view("Elu"),
                                         std::string_view("HardSigmoid"),
                                         std::string_view("LeakyRelu"),
                                         std::string_view("Relu"),
                                         std::string_view("Selu"),
                                         std::string_view("Sigmoid"),
                                         std::string_view("Softplus"),
                                         std::string_view("Softsign"),
                                         std::string_view("Tanh"),
                                         std::string_view("ThresholdedRelu")};

const Activation* activation_of(const Attributes& attributes) {
  const std::string& name = attributes.string("activation");
  const auto* activation = std::find_if(activations.begin(), activations.end(),
                                        [&name](const Activation& a) { return a.op == name; });
  return activation != activations.end() ? activation : nullptr;
}

std::string parameter_name(std::string_view parameter) {
  return fmt::format("activation_{}", parameter);
}

/// The attributes without unused parameters: what the activation has no use for is 0, so that equal
/// applications look equal.
Attributes without_unused_parameters(Attributes attributes,
                                     std::span<const std::string_view> parameters) {
  const Activation* activation = activation_of(attributes);
  for (const std::string_view parameter : parameters) {
    const bool is_used = activation != nullptr &&
                         std::find(activation->parameters.begin(), activation->parameters.end(),
                                   parameter) != activation->parameters.end();
    if (!is_used) attributes.set(parameter_name(parameter), 0.0);
  }
  return attributes;
}

ValueId activated(Composer& c, const Instance& in, ValueId value) {
  const Activation* activation = activation_of(in.attributes);
  if (activation == nullptr) return value;
  Attributes attributes;
  for (const std::string_view parameter : activation->parameters)
    if (!parameter.empty())
      attributes.set(std::string(parameter), *in.attributes.find(parameter_name(parameter)));
  return c(activation->op, {value}, std::move(attributes));
}

// ---- FusedConv ---------------------------------------------------------------------------------

constexpr AttributeSpecification parameter_attribute(std::string_view name) {
  return {name, AttributeKind::real, "0.0"};
}
constexpr std::array conv_parameters = {std::string_view("alpha"), std::string_view("beta"),
                                        std::string_view("max"), std::string_view("min")};
constexpr std::array fused_conv_attributes = {
    AttributeSpecification{"strides", AttributeKind::dimensions, "optional"},
    AttributeSpecification{"pads", AttributeKind::dimensions, "optional"},
    AttributeSpecification{"dilations", AttributeKind::dimensions, "optional"},
    AttributeSpecification{"group", AttributeKind::dimension, "1", AttributeRole::groups},
    AttributeSpecification{"activation", AttributeKind::string, "\"\"", AttributeRole::plain,
                           conv_activations},
    parameter_attribute("activation_alpha"),
    parameter_attribute("activation_beta"),
    parameter_attribute("activation_max"),
    parameter_attribute("activation_min"),
};

/// The convolution alone. It reads the attributes that it knows.
Instance convolution_of(const Instance& in) {
  Instance result = in;
  result.inputs = in.inputs.first(std::min<std::size_t>(in.inputs.size(), 3));
  return result;
}

Types infer_fused_conv(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_ASSIGN_OR_RETURN(std::vector<TensorType> types, known("Conv").infer(convolution_of(in)));
  if (!in.has(3)) return types;
  const Shape& shape = *types[0].shape;
  LEMMA_RETURN_IF_ERROR(require_rank(in, 3, shape.size(), shape.size()));
  for (std::size_t i = 0; i < shape.size(); ++i)
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(3)[i], shape[i], "sizes of addend and convolution"));
  return types;
}

Result<Attributes> normalize_fused_conv(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(Attributes attributes, known("Conv").normalize(convolution_of(in)));
  return without_unused_parameters(std::move(attributes), conv_parameters);
}

Compose compose_fused_conv(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  std::vector<ValueId> operands = {inputs[0], inputs[1]};
  if (in.has(2)) operands.push_back(inputs[2]);
  ValueId value = c("Conv", std::move(operands), attributes_for("Conv", in.attributes));
  if (in.has(3)) value = c.add(value, inputs[3]);
  return c.outputs({activated(c, in, value)});
}

Result<ImportedCall> import_fused_conv(const OnnxCall& call, ImportedCall imported) {
  OnnxCall convolution = call;
  convolution.attributes.erase("activation");
  convolution.attributes.erase("activation_params");
  const OnnxMapping& standard = known("Conv").onnx.front();
  LEMMA_ASSIGN_OR_RETURN(imported, standard.import_hook(convolution, std::move(imported)));
  if (!call.attributes.has("activation")) return imported;
  const auto* values = call.attributes.find("activation_params");
  const auto* given = values != nullptr ? std::get_if<Reals>(values) : nullptr;
  const Activation* activation = activation_of(imported.attributes);
  std::size_t count = 0;
  for (const std::string_view parameter :
       activation != nullptr ? activation->parameters : decltype(Activation::parameters){}) {
    if (parameter.empty()) continue;
    if (given == nullptr || given->size() <= count)
      return unsupported(fmt::format("an activation without its '{}'", parameter));
    imported.attributes.set(parameter_name(parameter), (*given)[count++]);
  }
  return imported;
}

Result<ExportedCall> export_fused_conv(const Instance& in, int opset, ExportedCall exported) {
  const Activation* activation = activation_of(in.attributes);
  Reals values;
  for (const std::string_view parameter : conv_parameters)
    exported.attributes.erase(parameter_name(parameter));
  if (activation == nullptr) exported.attributes.erase("activation");
  for (std::size_t i = 0; activation != nullptr && i < activation->parameters.size(); ++i)
    if (!activation->parameters[i].empty())
      values.push_back(in.attributes.number(parameter_name(activation->parameters[i])));
  if (!values.empty()) exported.attributes.set("activation_params", values);
  return known("Conv").onnx.front().export_hook(in, opset, std::move(exported));
}

constexpr std::array fused_conv_onnx = {OnnxMapping{.name = "FusedConv",
                                                    .import_hook = import_fused_conv,
                                                    .export_hook = export_fused_conv,
                                                    .domain = onnx_runtime_domain,
                                                    .runtime = onnx_runtime}};

// ---- FusedGemm ---------------------------------------------------------------------------------

constexpr std::array gemm_parameters = {std::string_view("alpha"), std::string_view("beta"),
                                        std::string_view("gamma")};
constexpr std::array fused_gemm_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real, "1.0"},
    AttributeSpecification{"beta", AttributeKind::real, "1.0"},
    AttributeSpecification{"transA", AttributeKind::integer, "0"},
    AttributeSpecification{"transB", AttributeKind::integer, "0"},
    AttributeSpecification{"activation", AttributeKind::string, "\"\"", AttributeRole::plain,
                           gemm_activations},
    parameter_attribute("activation_alpha"),
    parameter_attribute("activation_beta"),
    parameter_attribute("activation_gamma"),
};

Types infer_fused_gemm(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  return known("Gemm").infer(in);
}

Result<Attributes> normalize_fused_gemm(const Instance& in) {
  return without_unused_parameters(in.attributes, gemm_parameters);
}

Compose compose_fused_gemm(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const std::vector<ValueId> operands(inputs.begin(), inputs.end());
  const ValueId value = c("Gemm", operands, attributes_for("Gemm", in.attributes));
  return c.outputs({activated(c, in, value)});
}

Result<ExportedCall> export_fused_gemm(const Instance& in, int, ExportedCall exported) {
  const Activation* activation = activation_of(in.attributes);
  if (activation == nullptr) exported.attributes.erase("activation");
  for (const std::string_view parameter : gemm_parameters)
    if (activation == nullptr ||
        std::find(activation->parameters.begin(), activation->parameters.end(), parameter) ==
            activation->parameters.end())
      exported.attributes.erase(parameter_name(parameter));
  return exported;
}

constexpr std::array fused_gemm_onnx = {OnnxMapping{.name = "FusedGemm",
                                                    .export_hook = export_fused_gemm,
                                                    .domain = onnx_runtime_domain,
                                                    .runtime = onnx_runtime}};

// ---- FusedMatMul -------------------------------------------------------------------------------
//
// Of an operand with more than one axis `trans` exchanges the last two; `transBatch` first makes its first axis the
// last but one.

constexpr std::array fused_matmul_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real, "1.0"},
    AttributeSpecification{"transA", AttributeKind::integer, "0"},
    AttributeSpecification{"transB", AttributeKind::integer, "0"},
    AttributeSpecification{"transBatchA", AttributeKind::integer, "0"},
    AttributeSpecification{"transBatchB", AttributeKind::integer, "0"},
};

/// The order in which the product takes the axes of an operand; nothing if it takes them as they are.
Integers axis_order(const Instance& in, std::size_t operand) {
  const bool left = operand == 0;
  const bool exchanged = in.attributes.integer(left ? "transA" : "transB") != 0;
  const bool batched = in.attributes.integer(left ? "transBatchA" : "transBatchB") != 0;
  Integers order = axes_between(0, static_cast<std::int64_t>(in.rank(operand)));
  if (order.size() < 2 || !(exchanged || batched)) return {};
  if (batched) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (exchanged) std::swap(order[order.size() - 2], order[order.size() - 1]);
  return order;
}

Types infer_fused_matmul(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  std::vector<TensorType> operands(in.inputs.begin(), in.inputs.end());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Integers order = axis_order(in, i);
    for (std::size_t axis = 0; axis < order.size(); ++axis)
      (*operands[i].shape)[axis] = in.shape(i)[static_cast<std::size_t>(order[axis])];
  }
  Instance product = in;
  product.inputs = operands;
  return known("MatMul").infer(product);
}

Compose compose_fused_matmul(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  std::vector<ValueId> operands(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (const Integers order = axis_order(in, i); !order.empty())
      operands[i] = c("Transpose", {operands[i]}, {{"perm", order}});
  const ValueId product = c("MatMul", operands);
  return c.outputs({c.scaled(product, in.attributes.real("alpha"))});
}

constexpr std::array fused_matmul_onnx = {
    OnnxMapping{.name = "FusedMatMul", .domain = onnx_runtime_domain, .runtime = onnx_runtime}};

// ---- BiasGelu ----------------------------------------------------------------------------------

constexpr std::array approximations = {std::string_view("none"), std::string_view("tanh")};
constexpr std::array bias_gelu_attributes = {
    AttributeSpecification{"approximate", AttributeKind::string, "\"none\"", AttributeRole::plain,
                           approximations},
};

/// The bias is a vector along the last axis.
Types infer_bias_gelu(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 1));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, 1, 1));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, in.shape(1)[0], in.shape(0).back(), "sizes of bias and last axis"));
  return infer_same(in);
}

Compose compose_bias_gelu(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId sum = c.add(inputs[0], inputs[1]);
  return c.outputs({c("Gelu", {sum}, attributes_for("Gelu", in.attributes))});
}

template <bool by_tanh>
Result<ImportedCall> import_bias_gelu(const OnnxCall&, ImportedCall imported) {
  imported.attributes.set("approximate", std::string(by_tanh ? "tanh" : "none"));
  return imported;
}

Result<ExportedCall> export_bias_gelu(const Instance& in, int, ExportedCall exported) {
  exported.name = in.attributes.string("approximate") == "tanh" ? "FastGelu" : "BiasGelu";
  exported.attributes = {};
  return exported;
}

constexpr std::array bias_gelu_onnx = {OnnxMapping{.name = "BiasGelu",
                                                   .import_hook = import_bias_gelu<false>,
                                                   .export_hook = export_bias_gelu,
                                                   .domain = onnx_runtime_domain,
                                                   .runtime = onnx_runtime},
                                       OnnxMapping{.name = "FastGelu",
                                                   .import_hook = import_bias_gelu<true>,
                                                   .import_only = true,
                                                   .domain = onnx_runtime_domain,
                                                   .runtime = onnx_runtime}};

constexpr std::array fusion_records = {
    OperatorRecord{.name = "BiasGelu",
                   .summary = "Gelu of the sum with a vector along the last axis",
                   .inputs = {2, 2},
                   .attributes = bias_gelu_attributes,
                   .infer = infer_bias_gelu,
                   .compose = compose_bias_gelu,
                   .onnx = bias_gelu_onnx,
                   .runtime = onnx_runtime},
    OperatorRecord{.name = "FusedConv",
                   .summary = "a convolution, plus an addend, and an activation of that",
                   .inputs = {2, 4},
                   .attributes = fused_conv_attributes,
                   .flags = spatial,
                   .infer = infer_fused_conv,
                   .compose = compose_fused_conv,
                   .normalize = normalize_fused_conv,
                   .onnx = fused_conv_onnx,
                   .runtime = onnx_runtime},
    OperatorRecord{.name = "FusedGemm",
                   .summary = "an activation of alpha times a product plus beta times an addend",
                   .inputs = {2, 3},
                   .attributes = fused_gemm_attributes,
                   .infer = infer_fused_gemm,
                   .compose = compose_fused_gemm,
                   .normalize = normalize_fused_gemm,
                   .onnx = fused_gemm_onnx,
                   .runtime = onnx_runtime},
    OperatorRecord{.name = "FusedMatMul",
                   .summary = "alpha times the matrix product of operands with axes exchanged",
                   .inputs = {2, 2},
                   .attributes = fused_matmul_attributes,
                   .infer = infer_fused_matmul,
                   .compose = compose_fused_matmul,
                   .onnx = fused_matmul_onnx,
                   .runtime = onnx_runtime},
};
static_assert(is_complete(fusion_records));

}  // namespace

std::span<const OperatorRecord> fusion() { return fusion_records; }

}  // namespace lemma::operators
