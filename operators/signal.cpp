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

/// The turn from one element to the next, in the first bin after the constant one.
double turn_step(std::int64_t length) {
  return -2 * std::numbers::pi / static_cast<double>(length);
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
  // In f32 the sine of half a turn would be no 0.
  const Expression turn = d.real(transform.inverse ? 2 : -2, DataType::f64) * d.pi(DataType::f64);
  const Expression step = turn / d.real(static_cast<double>(transform.length), DataType::f64);
  const Expression angle = d.cast(multiple, DataType::f64) * step;
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

// ---- STFT --------------------------------------------------------------------------------------
//
// Operands: signal [batch, length, parts], or [batch, length] of real numbers, as ONNX Runtime takes it; window [frame].

constexpr std::array stft_attributes = {
    AttributeSpecification{"frame_length", AttributeKind::dimension, "optional"},
    AttributeSpecification{"frame_step", AttributeKind::dimension},
    AttributeSpecification{"onesided", AttributeKind::integer, "1"},
};

struct Frames {
  Dimension count;
  std::int64_t length = 0, step = 1;  // of a frame, and from one to the next
  std::int64_t parts = 1, bins = 0;   // of a number, and of a spectrum
};

Result<Frames> frames_of(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2, 3));
  if (in.has(1)) LEMMA_RETURN_IF_ERROR(require_rank(in, 1, 1, 1));
  const Dimension step = in.attributes.dimension("frame_step");
  const Dimension length = in.attributes.has("frame_length")
                               ? in.attributes.dimension("frame_length")
                           : in.has(1) ? in.shape(1)[0]
                                       : in.shape(0)[1];
  const Dimension parts = in.rank(0) == 3 ? in.shape(0)[2] : Dimension(1);
  if (!length.is_constant() || !step.is_constant())
    return unsupported("frames of a length or at distances that are not known");
  if (length.offset() < 1 || step.offset() < 1)
    return bad_input(
        fmt::format("frames of {} elements, {} apart", length.offset(), step.offset()));
  if (!parts.is(1) && !parts.is(2))
    return bad_input(fmt::format("{} parts of a complex number", parts.text()));
  if (in.has(1))
    LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(1)[0], length, "the window and a frame"));
  if (!in.is_at_most(length, in.shape(0)[1]))
    return bad_input(
        fmt::format("a frame of {} elements is longer than the signal", length.offset()));
  const bool onesided = in.attributes.integer("onesided") != 0;
  if (onesided && !parts.is(1)) return bad_input("a complex signal has no symmetric spectrum");
  return Frames{floor_div(in.shape(0)[1] - length, step) + 1, length.offset(), step.offset(),
                parts.offset(), onesided ? length.offset() / 2 + 1 : length.offset()};
}

Types infer_stft(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(const Frames frames, frames_of(in));
  return std::vector<TensorType>{{in.type(0), Shape{in.shape(0)[0], frames.count, frames.bins, 2}}};
}

/// What a frame is multiplied by, [length * parts, bins * 2], as in the definition of DFT.
template <class Element>
Constant fourier_matrix(const Frames& frames, DataType type) {
  std::vector<Element> elements;
  for (std::int64_t k = 0; k < frames.length; ++k) {
    for (std::int64_t part = 0; part < frames.parts; ++part) {
      for (std::int64_t bin = 0; bin < frames.bins; ++bin) {
        const double angle =
            turn_step(frames.length) * static_cast<double>(bin * k % frames.length);
        const double cosine = std::cos(angle), sine = std::sin(angle);
        elements.push_back(static_cast<Element>(part == 0 ? cosine : -sine));
        elements.push_back(static_cast<Element>(part == 0 ? sine : cosine));
      }
    }
  }
  return Constant::of(type, {frames.length * frames.parts, frames.bins * 2}, elements);
}

/// A product of the frames, weighed by the window, with cosines and sines that are computed once: a transform of each
/// frame would compute them for each.
Result<std::vector<ValueId>> compose_stft(Graph& graph, const Instance& in,
                                          std::span<const ValueId> inputs) {
  Composer c(graph);
  const Frames frames = *frames_of(in);
  const Shape places = {frames.count, frames.length};
  const ValueId step = c.scalar(static_cast<double>(frames.step), DataType::i64);
  const ValueId indices = c.add(c.multiply(c.positions(places, 0), step), c.positions(places, 1));
  const ValueId signal =
      in.rank(0) == 3 ? inputs[0] : c("Unsqueeze", {inputs[0]}, {{"axes", Integers{2}}});
  ValueId framed = c("Gather", {signal, indices}, {{"axis", std::int64_t{1}}});
  if (in.has(1)) framed = c.multiply(framed, c("Unsqueeze", {inputs[1]}, {{"axes", Integers{1}}}));
  const Dimension batch = in.shape(0)[0];
  const Shape rows = {batch, frames.count, frames.length * frames.parts};
  const ValueId matrix =
      c.constant(in.type(0) == DataType::f64 ? fourier_matrix<double>(frames, DataType::f64)
                                             : fourier_matrix<float>(frames, DataType::f32));
  const ValueId product =
      c("MatMul", {c("Reshape", {framed}, {{"shape", rows}}), c.cast(matrix, in.type(0))});
  return c.outputs(
      {c("Reshape", {product}, {{"shape", Shape{batch, frames.count, frames.bins, 2}}})});
}

constexpr std::array stft_parameters = {OnnxParameter{"frame_step", 1},
                                        OnnxParameter{"frame_length", 3}};
constexpr std::array stft_onnx = {
    OnnxMapping{.name = "STFT", .since = 17, .parameters = stft_parameters}};

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

/// A fraction.
struct Factor {
  double numerator = 0, denominator = 1;
};

Definition define_window(const Instance& in, std::span<const Factor> factors) {
  DefinitionBuilder d;
  const DataType type = in.attributes.data_type("output_datatype");
  const std::int64_t size = in.attributes.dimension("size").offset();
  const std::int64_t period =
      std::max<std::int64_t>(in.attributes.integer("periodic") != 0 ? size : size - 1, 1);
  const std::vector<Expression> axes = d.variables({Dimension(size)});
  const auto factor = [&](std::size_t i) {
    return d.real(factors[i].numerator, type) / d.real(factors[i].denominator, type);
  };
  Expression sum = factor(0);
  for (std::size_t i = 1; i < factors.size(); ++i) {
    const Expression turns = d.real(2 * static_cast<double>(i), type) * d.pi(type);
    const Expression step = turns / d.real(static_cast<double>(period), type);
    const Expression angle = d.cast(axes[0], type) * step;
    sum = sum + factor(i) * d.apply(ScalarFunction::cos, angle);
  }
  d.output(axes, sum);
  return std::move(d).finish();
}

constexpr std::array blackman = {Factor{42, 100}, Factor{-1, 2}, Factor{8, 100}};
constexpr std::array hamming = {Factor{25, 46}, Factor{-21, 46}};
constexpr std::array hann = {Factor{1, 2}, Factor{-1, 2}};

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
    OperatorRecord{.name = "STFT",
                   .summary = "the discrete Fourier transforms of frames of a signal, each weighed "
                              "by a window",
                   .inputs = {1, 2},
                   .attributes = stft_attributes,
                   .infer = infer_stft,
                   .compose = compose_stft,
                   .onnx = stft_onnx},
};
static_assert(is_complete(signal_records));

}  // namespace

std::span<const OperatorRecord> signal() { return signal_records; }

}  // namespace lemma::operators
