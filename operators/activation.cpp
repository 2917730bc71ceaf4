#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/runtime_names.h"

namespace lemma::operators {
namespace {

using Function = ScalarFunction;
using Operands = std::vector<Expression>;

/// An attribute as a constant of the operand's type.
Expression attribute(DefinitionBuilder& d, const Instance& in, std::string_view name) {
  return d.real(in.attributes.real(name), in.type(0));
}
Expression number(DefinitionBuilder& d, const Instance& in, double value) {
  return d.constant(value, in.type(0));
}

// ---- Sigmoid and its relatives -----------------------------------------------------------------

Expression sigmoid_of(DefinitionBuilder& d, Expression x) {
  const Expression power = d.apply(Function::exp, d.apply(Function::negate, x));
  return d.apply(Function::reciprocal, d.real(1, x.type()) + power);
}

/// log(1 + exp(x)), arranged so that no power overflows.
Expression softplus_of(DefinitionBuilder& d, Expression x) {
  const Expression unit = d.real(1, x.type()), zero = d.real(0, x.type());
  const Expression size = d.apply(Function::absolute, x);
  const Expression power = d.apply(Function::exp, d.apply(Function::negate, size));
  return maximum(x, zero) + d.apply(Function::log, unit + power);
}

Expression sigmoid(DefinitionBuilder& d, const Instance&, Operands x) {
  return sigmoid_of(d, x[0]);
}
Expression softplus(DefinitionBuilder& d, const Instance&, Operands x) {
  return softplus_of(d, x[0]);
}
Expression softsign(DefinitionBuilder& d, const Instance& in, Operands x) {
  return x[0] / (number(d, in, 1) + d.apply(Function::absolute, x[0]));
}
Expression mish(DefinitionBuilder& d, const Instance&, Operands x) {
  return x[0] * d.apply(Function::tanh, softplus_of(d, x[0]));
}
Expression swish(DefinitionBuilder& d, const Instance& in, Operands x) {
  return x[0] * sigmoid_of(d, attribute(d, in, "alpha") * x[0]);
}

Result<std::vector<ValueId>> spell_swish(Graph& graph, const Instance& in,
                                         std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId slope = c.scaled(inputs[0], in.attributes.real("alpha"));
  return c.outputs({c.multiply(inputs[0], c("Sigmoid", {slope}))});
}

Result<ImportedCall> import_quick_gelu(const OnnxCall& call, ImportedCall imported) {
  constexpr double usual_alpha = 1.7020000219345093;
  if (!call.attributes.has("alpha")) imported.attributes.set("alpha", usual_alpha);
  return imported;
}

constexpr std::array swish_onnx = {OnnxMapping{.name = "Swish", .since = 24},
                                   OnnxMapping{.name = "QuickGelu",
                                               .import_hook = import_quick_gelu,
                                               .domain = onnx_runtime_domain,
                                               .runtime = onnx_runtime}};

constexpr std::array swish_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real, "1.0"},
};

constexpr OperatorRecord swish_record() {
  OperatorRecord result =
      unary_record<"Swish", TypeSet::real, swish>("x / (1 + exp(-alpha x))", swish_attributes);
  result.onnx = swish_onnx;
  result.spelling = spell_swish;
  return result;
}

// ---- Rectifiers --------------------------------------------------------------------------------

Expression relu(DefinitionBuilder& d, const Instance& in, Operands x) {
  return maximum(x[0], number(d, in, 0));
}
Expression leaky_relu(DefinitionBuilder& d, const Instance& in, Operands x) {
  return d.select(x[0] < number(d, in, 0), attribute(d, in, "alpha") * x[0], x[0]);
}
Expression thresholded_relu(DefinitionBuilder& d, const Instance& in, Operands x) {
  return d.select(attribute(d, in, "alpha") < x[0], x[0], number(d, in, 0));
}
Expression elu(DefinitionBuilder& d, const Instance& in, Operands x) {
  const Expression below =
      attribute(d, in, "alpha") * (d.apply(Function::exp, x[0]) - number(d, in, 1));
  return d.select(x[0] < number(d, in, 0), below, x[0]);
}
Expression selu(DefinitionBuilder& d, const Instance& in, Operands x) {
  const Expression alpha = attribute(d, in, "alpha"), gamma = attribute(d, in, "gamma");
  const Expression below = alpha * d.apply(Function::exp, x[0]) - alpha;
  return gamma * d.select(number(d, in, 0) < x[0], x[0], below);
}
Expression celu(DefinitionBuilder& d, const Instance& in, Operands x) {
  const Expression alpha = attribute(d, in, "alpha"), zero = number(d, in, 0);
  const Expression below = alpha * (d.apply(Function::exp, x[0] / alpha) - number(d, in, 1));
  return maximum(zero, x[0]) + minimum(zero, below);
}

constexpr std::array leaky_relu_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real, "0.009999999776482582"},
};
constexpr std::array alpha_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real, "1.0"},
};
constexpr std::array selu_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real, "1.6732631921768188"},
    AttributeSpecification{"gamma", AttributeKind::real, "1.0507010221481323"},
};

// ---- Pieces of lines ---------------------------------------------------------------------------

Expression hard_sigmoid_of(DefinitionBuilder& d, const Instance& in, Expression x, Expression alpha,
                           Expression beta) {
  return maximum(number(d, in, 0), minimum(number(d, in, 1), alpha * x + beta));
}
Expression hard_sigmoid(DefinitionBuilder& d, const Instance& in, Operands x) {
  return hard_sigmoid_of(d, in, x[0], attribute(d, in, "alpha"), attribute(d, in, "beta"));
}
Expression hard_swish(DefinitionBuilder& d, const Instance& in, Operands x) {
  const Expression sixth = number(d, in, 1) / number(d, in, 6);
  return x[0] * hard_sigmoid_of(d, in, x[0], sixth, number(d, in, 0.5));
}

constexpr std::array hard_sigmoid_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real, "0.20000000298023224"},
    AttributeSpecification{"beta", AttributeKind::real, "0.5"},
};

Expression shrink(DefinitionBuilder& d, const Instance& in, Operands operands) {
  const Expression x = operands[0], zero = number(d, in, 0), bias = attribute(d, in, "bias");
  const Expression limit = attribute(d, in, "lambd");
  const Expression above = d.select(limit < x, x - bias, zero);
  return d.select(x < d.apply(Function::negate, limit), x + bias, above);
}

constexpr std::array shrink_attributes = {
    AttributeSpecification{"bias", AttributeKind::real, "0.0"},
    AttributeSpecification{"lambd", AttributeKind::real, "0.5"},
};

// ---- Gelu --------------------------------------------------------------------------------------

constexpr std::array gelu_attributes = {
    AttributeSpecification{"approximate", AttributeKind::string, "\"none\""},
};

Result<std::vector<TensorType>> infer_gelu(const Instance& in) {
  const std::string& approximate = in.attributes.string("approximate");
  if (approximate != "none" && approximate != "tanh")
    return bad_input(fmt::format("approximate '{}' is neither none nor tanh", approximate));
  return infer_elementwise(in, TypeSet::real);
}

Expression gelu(DefinitionBuilder& d, const Instance& in, Operands operands) {
  const Expression x = operands[0], half = number(d, in, 0.5), unit = number(d, in, 1);
  if (in.attributes.string("approximate") == "none") {
    const Expression root = d.apply(Function::sqrt, number(d, in, 2));
    return half * x * (unit + d.apply(Function::erf, x * (unit / root)));
  }
  const Expression inner = x + number(d, in, 0.044715) * (x * x * x);
  const Expression scale = d.apply(Function::sqrt, number(d, in, 2) / d.pi(x.type()));
  return half * x * (unit + d.apply(Function::tanh, scale * inner));
}

/// Gelu as exporters write it, so that runtimes make one operator of it again.
Result<std::vector<ValueId>> spell_gelu(Graph& graph, const Instance& in,
                                        std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId x = inputs[0];
  const auto number = [&](double value) { return c.scalar(value, in.type(0)); };
  if (in.attributes.string("approximate") == "none") {
    const ValueId error = c("Erf", {c.divide(x, number(std::numbers::sqrt2))});
    return c.outputs({c.multiply(c.multiply(x, c.add(error, number(1))), number(0.5))});
  }
  const ValueId cube = c.multiply(c("Pow", {x, number(3)}), number(0.044715));
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const ValueId inner = c.multiply(c.add(x, cube), number(scale));
  const ValueId half = c.multiply(x, number(0.5));
  return c.outputs({c.multiply(half, c.add(c("Tanh", {inner}), number(1)))});
}

template <bool by_tanh>
Result<ImportedCall> import_own_gelu(const OnnxCall& call, ImportedCall imported) {
  if (call.inputs.size() > 1) return unsupported("a bias");
  imported.attributes.set("approximate", std::string(by_tanh ? "tanh" : "none"));
  return imported;
}

Result<ExportedCall> export_own_gelu(const Instance& in, int, ExportedCall exported) {
  if (in.attributes.string("approximate") == "tanh") exported.name = "FastGelu";
  exported.attributes = {};
  return exported;
}

constexpr std::array gelu_onnx = {OnnxMapping{.name = "Gelu", .since = 20},
                                  OnnxMapping{.name = "Gelu",
                                              .import_hook = import_own_gelu<false>,
                                              .export_hook = export_own_gelu,
                                              .domain = onnx_runtime_domain,
                                              .runtime = onnx_runtime},
                                  OnnxMapping{.name = "FastGelu",
                                              .import_hook = import_own_gelu<true>,
                                              .import_only = true,
                                              .domain = onnx_runtime_domain,
                                              .runtime = onnx_runtime}};

constexpr OperatorRecord gelu_record() {
  OperatorRecord result = unary_record<"Gelu", TypeSet::real, gelu>(
      "x times the normal distribution function of x", gelu_attributes);
  result.onnx = gelu_onnx;
  result.spelling = spell_gelu;
  result.infer = infer_gelu;
  return result;
}

// ---- Clip --------------------------------------------------------------------------------------
//
// Bounds known before run time are attributes (Clip), others are operands (ClipTensor). The upper
// bound wins where the two contradict each other.

constexpr std::array clip_attributes = {
    AttributeSpecification{"max", AttributeKind::real, "inf"},
    AttributeSpecification{"min", AttributeKind::real, "-inf"},
};

Result<std::vector<TensorType>> infer_clip(const Instance& in) {
  for (const char* bound : {"min", "max"})
    if (in.attributes.is_nan(bound)) return unsupported(fmt::format("'{}' is not a number", bound));
  return infer_elementwise(in, TypeSet::numeric);
}

Expression clip(DefinitionBuilder& d, const Instance& in, Operands x) {
  return d.at_most(in.attributes.real("max"), d.at_least(in.attributes.real("min"), x[0]));
}

Result<ImportedCall> import_clip(const OnnxCall& call, ImportedCall imported) {
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    const OnnxOperand& operand = call.inputs[i];
    if (!operand.present()) continue;
    if (operand.constant == nullptr) return unsupported("a bound is not known before run time");
    const Reals values = operand.constant->reals();
    if (values.size() != 1) return bad_input("a bound is not a scalar");
    // A bound that f64 cannot hold exactly stays an operand.
    if (std::abs(values[0]) > 0x1p53 && is_integer(operand.type.data_type))
      return unsupported("a bound is too large an integer");
    imported.attributes.set(i == 1 ? "min" : "max", values[0]);
  }
  imported.inputs.resize(1);
  return imported;
}

Result<ExportedCall> export_clip(const Instance& in, int opset, ExportedCall exported) {
  const double low = in.attributes.number("min"), high = in.attributes.number("max");
  if (opset < 11) {
    if (low == -HUGE_VAL) exported.attributes.erase("min");
    if (high == HUGE_VAL) exported.attributes.erase("max");
    return exported;
  }
  exported.attributes = {};
  if (low != -HUGE_VAL || high != HUGE_VAL) exported.inputs.emplace_back(OnnxAbsent{});
  if (low != -HUGE_VAL) exported.inputs[1] = constant_of_value(in.type(0), low);
  if (high != HUGE_VAL) exported.inputs.emplace_back(constant_of_value(in.type(0), high));
  return exported;
}

constexpr std::array clip_onnx = {OnnxMapping{
    .name = "Clip", .since = 6, .import_hook = import_clip, .export_hook = export_clip}};

constexpr OperatorRecord clip_record() {
  OperatorRecord result = unary_record<"Clip", TypeSet::numeric, clip>(
      "x brought into the range from min to max", clip_attributes);
  result.infer = infer_clip;
  result.onnx = clip_onnx;
  return result;
}

Result<std::vector<TensorType>> infer_clip_tensor(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::numeric));
  for (std::size_t i = 1; i < in.inputs.size(); ++i)
    if (in.has(i) && in.rank(i) != 0)
      return bad_input(fmt::format("bound {} is not a scalar", text(in.shape(i))));
  return infer_same(in);
}

Definition define_clip_tensor(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  Expression value = d.read(0, in.type(0), axes);
  if (in.has(1)) value = maximum(value, d.read(1, in.type(1), {}));
  if (in.has(2)) value = minimum(value, d.read(2, in.type(2), {}));
  d.output(axes, value);
  return std::move(d).finish();
}

constexpr std::array clip_tensor_onnx = {OnnxMapping{.name = "Clip", .since = 11}};

// ---- HardSigmoid with numbers that rules compute from constants of a model --------------------------

Result<std::vector<TensorType>> infer_hard_sigmoid_tensor(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  for (std::size_t i = 1; i < in.inputs.size(); ++i)
    if (in.rank(i) != 0) return bad_input(fmt::format("{} is not a scalar", text(in.shape(i))));
  return infer_same(in);
}

Result<std::vector<ValueId>> compose_hard_sigmoid_tensor(Graph& graph, const Instance&,
                                                         std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId line = c.add(c.multiply(inputs[0], inputs[1]), inputs[2]);
  return c.outputs({c("Clip", {line}, {{"max", 1.0}, {"min", 0.0}})});
}

constexpr std::array activation_records = {
    unary_record<"Celu", TypeSet::real, celu, 12>("max(0, x) + min(0, alpha (exp(x / alpha) - 1))",
                                                  alpha_attributes),
    clip_record(),
    OperatorRecord{.name = "ClipTensor",
                   .summary = "x brought into the range between two scalar operands",
                   .inputs = {1, 3},
                   .infer = infer_clip_tensor,
                   .define = define_clip_tensor,
                   .onnx = clip_tensor_onnx,
                   .constant_form = {"Clip", {"min", "max"}}},
    unary_record<"Elu", TypeSet::real, elu, 6>("x, where negative alpha (exp(x) - 1)",
                                               alpha_attributes),
    gelu_record(),
    unary_record<"HardSigmoid", TypeSet::real, hard_sigmoid, 6>("max(0, min(1, alpha x + beta))",
                                                                hard_sigmoid_attributes),
    OperatorRecord{.name = "HardSigmoidTensor",
                   .summary = "max(0, min(1, a x + b)) of a tensor and two scalar operands",
                   .inputs = {3, 3},
                   .infer = infer_hard_sigmoid_tensor,
                   .compose = compose_hard_sigmoid_tensor,
                   .constant_form = {"HardSigmoid", {"alpha", "beta"}}},
    unary_record<"HardSwish", TypeSet::real, hard_swish, 14>("x max(0, min(1, x / 6 + 1 / 2))"),
    unary_record<"LeakyRelu", TypeSet::real, leaky_relu, 6>("x, where negative alpha x",
                                                            leaky_relu_attributes),
    unary_record<"Mish", TypeSet::real, mish, 18>("x tanh(log(1 + exp(x)))"),
    unary_record<"Relu", TypeSet::numeric, relu>("max(x, 0)"),
    unary_record<"Selu", TypeSet::real, selu, 6>(
        "gamma x, where not positive gamma (alpha exp(x) - alpha)", selu_attributes),
    unary_record<"Shrink", TypeSet::real, shrink, 9>("x brought towards 0 by a bias, and 0 near 0",
                                                     shrink_attributes),
    unary_record<"Sigmoid", TypeSet::real, sigmoid>("1 / (1 + exp(-x))"),
    unary_record<"Softplus", TypeSet::real, softplus>("log(1 + exp(x))"),
    unary_record<"Softsign", TypeSet::real, softsign>("x / (1 + |x|)"),
    swish_record(),
    unary_record<"ThresholdedRelu", TypeSet::real, thresholded_relu, 10>(
        "x where above alpha, or 0", alpha_attributes),
};
static_assert(is_complete(activation_records));

}  // namespace

std::span<const OperatorRecord> activation() { return activation_records; }

}  // namespace lemma::operators
