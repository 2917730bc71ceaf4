#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/sizes.h"

// Signals: Fourier transforms and the windows that weigh them.

namespace lemma::operators {
namespace {

using Types = Result<std::vector<TensorType>>;

// ---- DFT ---------------------------------------------------------------------------------------
//
// The last axis has the real part, or the real and the imaginary part.

constexpr std::array dft_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "-2", AttributeRole::axis},
    AttributeSpecification{"dft_length", AttributeKind::dimension, "optional"},
    AttributeSpecification{"inverse", AttributeKind::integer, "0"},
    AttributeSpecification{"onesided", AttributeKind::integer, "0"},
};

struct Transform {
  std::size_t axis = 0;
  std::int64_t given = 0, length = 0;  // along the axis, of the operand and of the transform
  bool inverse = false, onesided = false;
  /// The operand has the first half of a spectrum that is symmetric.
  bool completes() const { return inverse && onesided; }
};

Result<Transform> transform_of(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  Transform result;
  result.axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  if (result.axis + 1 == in.rank(0)) return bad_input("the axis is that of the parts of a number");
  const Dimension& parts = in.shape(0).back();
  const Dimension& given = in.shape(0)[result.axis];
  if (!parts.is(1) && !parts.is(2))
    return bad_input(fmt::format("{} parts of a complex number", parts.text()));
  result.inverse = in.attributes.integer("inverse") != 0;
  result.onesided = in.attributes.integer("onesided") != 0;
  // Expected results of the standard's tests are further from 0, where that is the result, than they allow.
  if (result.inverse && !result.onesided)
    return unsupported("an inverse transform to complex numbers");
  if (!given.is_constant()) return unsupported("a transform of a length that is not known");
  result.given = given.offset();
  const Dimension length = in.attributes.has("dft_length") ? in.attributes.dimension("dft_length")
                           : result.completes()            ? given * 2 - Dimension(2)
                                                           : given;
  if (!length.is_constant()) return unsupported("a transform of a length that is not known");
  result.length = length.offset();
  if (result.length < 1) return bad_input(fmt::format("a transform of {} elements", result.length));
  if (result.completes() && (!parts.is(2) || result.given != result.length / 2 + 1))
    return unsupported("a spectrum that is not the first half");
  if (result.onesided && !result.inverse && !parts.is(1))
    return bad_input("a complex signal has no symmetric spectrum");
  return result;
}

Types infer_dft(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(const Transform transform, transform_of(in));
  Shape shape = in.shape(0);
  shape[transform.axis] =
      transform.onesided && !transform.inverse ? transform.length / 2 + 1 : transform.length;
  shape.back() = transform.completes() ? 1 : 2;
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_dft(const Instance& in) {
  DefinitionBuilder d;
  const Transform transform = *transform_of(in);
  const DataType type = in.type(0);
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_dft));
  const std::int64_t terms =
      transform.completes() ? transform.length : std::min(transform.given, transform.length);
  const Expression k = d.variable(terms);
  // Of the half that is not given each element is the conjugate of one that is.
  const Expression is_given = k < d.integer(transform.given);
  const Expression place =
      transform.completes() ? d.select(is_given, k, d.integer(transform.length) - k) : k;
  const auto part = [&](std::int64_t which) {
    std::vector<Expression> indices = axes;
    indices[transform.axis] = place;
    indices.back() = d.integer(which);
    return d.read(0, type, std::move(indices));
  };
  const bool complex = in.shape(0).back().is(2);
  const Expression real = part(0);
  Expression imaginary = complex ? part(1) : d.real(0, type);
  if (transform.completes()) imaginary = d.select(is_given, imaginary, d.real(0, type) - imaginary);
  // The angle's multiple is reduced as an integer, so that it is exact.
  const Expression multiple = d.floor_mod(axes[transform.axis] * k, transform.length);
  const double step =
      (transform.inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(transform.length);
  // In f32 the sine of half a turn would be no 0.
  const Expression angle = d.cast(multiple, DataType::f64) * d.real(step, DataType::f64);
  const Expression cosine = d.cast(d.apply(ScalarFunction::cos, angle), type);
  const Expression sine = d.cast(d.apply(ScalarFunction::sin, angle), type);
  const Expression in_phase = complex ? real * cosine - imaginary * sine : real * cosine;
  const Expression out_of_phase = complex ? real * sine + imaginary * cosine : real * sine;
  const Expression term = transform.completes()
                              ? in_phase
                              : d.select(axes.back() == d.integer(0), in_phase, out_of_phase);
  Expression sum = d.sum({k}, term);
  if (transform.inverse) sum = sum / d.real(static_cast<double>(transform.length), type);
  d.output(axes, sum);
  return std::move(d).finish();
}

constexpr std::array dft_parameters = {OnnxParameter{"dft_length", 1, 1},
                                       OnnxParameter{"axis", 2, 20}};

/// Before operator set 20 the axis is the second one unless given.
Result<ImportedCall> import_dft(const OnnxCall& call, ImportedCall imported) {
  constexpr int axis_is_input_since = 20;
  if (call.opset < axis_is_input_since && !call.attributes.has("axis"))
    imported.attributes.set("axis", std::int64_t{1});
  return imported;
}

constexpr std::array dft_onnx = {OnnxMapping{
    .name = "DFT", .since = 17, .parameters = dft_parameters, .import_hook = import_dft}};

// ---- Windows -----------------------------------------------------------------------------------
//
// Sums of cosines of multiples of the position.

constexpr std::array window_attributes = {
    AttributeSpecification{"output_datatype", AttributeKind::data_type, "f32"},
    AttributeSpecification{"periodic", AttributeKind::integer, "1"},
    AttributeSpecification{"size", AttributeKind::dimension},
};

Types infer_window(const Instance& in) {
  const DataType type = in.attributes.data_type("output_datatype");
  if (!is_real(type)) return unsupported(fmt::format("a window of {}", name(type)));
  const Dimension size = in.attributes.dimension("size");
  if (!size.is_constant()) return unsupported("a window of a size that is not known");
  if (size.offset() < 0) return bad_input(fmt::format("a window of {} elements", size.offset()));
  return std::vector<TensorType>{{type, Shape{size}}};
}

Definition define_window(const Instance& in, std::span<const double> factors) {
  DefinitionBuilder d;
  const DataType type = in.attributes.data_type("output_datatype");
  const std::int64_t size = in.attributes.dimension("size").offset();
  const std::int64_t period =
      std::max<std::int64_t>(in.attributes.integer("periodic") != 0 ? size : size - 1, 1);
  const std::vector<Expression> axes = d.variables({Dimension(size)});
  Expression sum = d.real(factors[0], type);
  for (std::size_t i = 1; i < factors.size(); ++i) {
    const double step = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(period);
    const Expression angle = d.cast(axes[0], type) * d.real(step, type);
    sum = sum + d.real(factors[i], type) * d.apply(ScalarFunction::cos, angle);
  }
  d.output(axes, sum);
  return std::move(d).finish();
}

constexpr std::array blackman = {0.42, -0.5, 0.08};
constexpr std::array hamming = {25.0 / 46.0, -21.0 / 46.0};
constexpr std::array hann = {0.5, -0.5};

template <const auto& factors>
Definition define_window_of(const Instance& in) {
  return define_window(in, factors);
}

constexpr std::array window_parameters = {OnnxParameter{"size", 0, 1}};
template <StaticName name>
inline constexpr std::array window_onnx = {
    OnnxMapping{.name = name.view(), .since = 17, .parameters = window_parameters}};

template <StaticName name, const auto& factors>
constexpr OperatorRecord window_record(std::string_view summary) {
  return {.name = name.view(),
          .summary = summary,
          .inputs = {0, 0},
          .attributes = window_attributes,
          .infer = infer_window,
          .define = define_window_of<factors>,
          .onnx = window_onnx<name>};
}

constexpr std::array signal_records = {
    window_record<"BlackmanWindow", blackman>("0.42 - 0.5 cos t + 0.08 cos 2t over one turn"),
    OperatorRecord{.name = "DFT",
                   .summary = "the discrete Fourier transform along an axis",
                   .attributes = dft_attributes,
                   .flags = linear,
                   .infer = infer_dft,
                   .define = define_dft,
                   .onnx = dft_onnx},
    window_record<"HammingWindow", hamming>("25/46 - 21/46 cos t over one turn"),
    window_record<"HannWindow", hann>("0.5 - 0.5 cos t over one turn"),
};
static_assert(is_complete(signal_records));

}  // namespace

std::span<const OperatorRecord> signal() { return signal_records; }

}  // namespace lemma::operators
