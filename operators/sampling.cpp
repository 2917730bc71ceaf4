#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/sizes.h"

// Images read at positions that a grid gives, and the grids of affine maps. Positions along an axis go from -1 to 1,
// from the middle of the first element to that of the last (corners are aligned), or from edge to edge.

namespace lemma::operators {
namespace {

using Types = Result<std::vector<TensorType>>;

// ---- GridSample --------------------------------------------------------------------------------

constexpr std::array sample_modes = {std::string_view("cubic"), std::string_view("linear"),
                                     std::string_view("nearest")};
constexpr std::array padding_modes = {std::string_view("border"), std::string_view("reflection"),
                                      std::string_view("zeros")};
constexpr std::array grid_sample_attributes = {
    AttributeSpecification{"align_corners", AttributeKind::integer, "0"},
    AttributeSpecification{"mode", AttributeKind::string, "\"linear\"", AttributeRole::plain,
                           sample_modes},
    AttributeSpecification{"padding_mode", AttributeKind::string, "\"zeros\"", AttributeRole::plain,
                           padding_modes},
};

Types infer_grid_sample(const Instance& in) {
  for (const std::size_t i : {0, 1}) LEMMA_RETURN_IF_ERROR(require_type(in, i, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 3));
  const std::size_t rank = in.rank(0);
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, rank, rank));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, in.shape(0)[0], in.shape(1)[0], "sizes of the batch"));
  LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(1).back(),
                                          Dimension(static_cast<std::int64_t>(rank - 2)),
                                          "numbers of coordinates and axes"));
  Shape shape = {in.shape(0)[0], in.shape(0)[1]};
  for (std::size_t axis = 1; axis + 1 < rank; ++axis) shape.push_back(in.shape(1)[axis]);
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

/// Reads along one axis: which elements, and how much of each.
class AxisSampler {
 public:
  AxisSampler(DefinitionBuilder& d, const Instance& in, std::size_t axis,
              const std::vector<Expression>& axes)
      : d_(d),
        in_(in),
        size_(in.shape(0)[axis]),
        type_(in.type(1)),
        aligned_(in.attributes.integer("align_corners") != 0),
        mode_(in.attributes.string("mode")),
        padding_(in.attributes.string("padding_mode")) {
    std::vector<Expression> place = {axes[0]};
    place.insert(place.end(), axes.begin() + 2, axes.end());
    // Coordinates are in the order of the axes from the last one.
    place.push_back(d.integer(static_cast<std::int64_t>(in.rank(0) - 1 - axis)));
    position_ = denormalized(d.read(1, type_, std::move(place)));
    if (padding_ == "border")
      position_ = maximum(minimum(position_, number(size_) - real(1)), real(0));
    if (mode_ != "nearest") tap_ = d.variable(mode_ == "linear" ? 2 : 4);
  }

  /// The variable that counts the elements read; none if one is read.
  void add_variable(std::vector<Expression>& variables) const {
    if (mode_ != "nearest") variables.push_back(tap_);
  }

  /// The position read, which may be outside if padding is zeros.
  Expression index() const {
    const Expression at = tapped();
    if (padding_ == "zeros") return at;
    const Expression last = d_.extent(size_) - d_.integer(1);
    if (padding_ == "border") return maximum(minimum(at, last), d_.integer(0));
    // The image, mirrored at its edges or at its outermost elements, has this period.
    const Expression turned = aligned_ ? last + last : d_.extent(size_) + d_.extent(size_);
    const Expression period = maximum(turned, d_.integer(1));
    const Expression within = d_.binary(ExpressionKind::floor_modulo, at, period);
    const Expression mirrored = turned - within - d_.integer(aligned_ ? 0 : 1);
    return d_.select(within <= last, within, mirrored);
  }

  /// Whether the position is inside, where it may not be.
  void add_condition(std::vector<Expression>& conditions) const {
    if (padding_ != "zeros") return;
    conditions.push_back(d_.integer(0) <= tapped());
    conditions.push_back(tapped() < d_.extent(size_));
  }

  /// The share of the element that is read, in the type of the image; nothing: all of it.
  void add_weight(std::vector<Expression>& weights) const {
    if (mode_ == "nearest") return;
    const Expression offset = position_ - floor();
    weights.push_back(d_.cast(mode_ == "linear" ? linear(offset) : cubic(offset), in_.type(0)));
  }

 private:
  Expression real(double value) const { return d_.real(value, type_); }
  Expression number(const Dimension& size) const { return d_.cast(d_.extent(size), type_); }
  Expression floor() const { return d_.apply(ScalarFunction::floor, position_); }

  Expression denormalized(Expression n) const {
    if (aligned_) return (n + real(1)) / real(2) * (number(size_) - real(1));
    return ((n + real(1)) * number(size_) - real(1)) / real(2);
  }

  Expression tapped() const {
    if (mode_ == "nearest")
      return d_.cast(d_.apply(ScalarFunction::round, position_), DataType::i64);
    const Expression first = d_.cast(floor(), DataType::i64);
    return first + (mode_ == "linear" ? tap_ : tap_ - d_.integer(1));
  }

  Expression linear(Expression offset) const {
    return d_.select(tap_ == d_.integer(0), real(1) - offset, offset);
  }

  /// Cubic convolution (Keys, 1981): one polynomial up to a distance of 1, another up to 2.
  Expression cubic(Expression offset) const {
    constexpr double a = -0.75;
    const auto near = [&](Expression x) {
      return ((real(a + 2) * x - real(a + 3)) * x) * x + real(1);
    };
    const auto far = [&](Expression x) {
      return ((real(a) * x - real(5 * a)) * x + real(8 * a)) * x - real(4 * a);
    };
    const Expression rest = real(1) - offset;
    return d_.select(tap_ == d_.integer(0), far(offset + real(1)),
                     d_.select(tap_ == d_.integer(1), near(offset),
                               d_.select(tap_ == d_.integer(2), near(rest), far(rest + real(1)))));
  }

  DefinitionBuilder& d_;
  const Instance& in_;
  Dimension size_;
  DataType type_;
  bool aligned_;
  std::string_view mode_, padding_;
  Expression position_, tap_;
};

Definition define_grid_sample(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_grid_sample));
  std::vector<Expression> place = {axes[0], axes[1]}, variables, conditions, weights;
  for (std::size_t axis = 2; axis < in.rank(0); ++axis) {
    const AxisSampler sampler(d, in, axis, axes);
    place.push_back(sampler.index());
    sampler.add_variable(variables);
    sampler.add_condition(conditions);
    sampler.add_weight(weights);
  }
  Expression value = d.read(0, in.type(0), std::move(place));
  if (!conditions.empty()) {
    Expression inside = conditions.front();
    for (std::size_t i = 1; i < conditions.size(); ++i) inside = inside && conditions[i];
    value = d.select(inside, value, d.real(0, in.type(0)));
  }
  for (const Expression& weight : weights) value = value * weight;
  d.output(axes, variables.empty() ? value : d.sum(std::move(variables), value));
  return std::move(d).finish();
}

/// Before operator set 20 the modes are named after images.
constexpr int named_by_order_since = 20;

Result<ImportedCall> import_grid_sample(const OnnxCall& call, ImportedCall imported) {
  const std::string_view mode = string_or(call, "mode", "linear");
  if (mode == "bilinear") imported.attributes.set("mode", std::string("linear"));
  if (mode == "bicubic") imported.attributes.set("mode", std::string("cubic"));
  return imported;
}

Result<ExportedCall> export_grid_sample(const Instance& in, int opset, ExportedCall exported) {
  const std::string& mode = in.attributes.string("mode");
  if (opset < named_by_order_since && in.rank(0) != 4)
    return unsupported(fmt::format("operator set {} samples images only", opset));
  if (opset < named_by_order_since && mode != "nearest")
    exported.attributes.set("mode", std::string("bi") + mode);
  return exported;
}

constexpr std::array grid_sample_onnx = {OnnxMapping{.name = "GridSample",
                                                     .since = 16,
                                                     .import_hook = import_grid_sample,
                                                     .export_hook = export_grid_sample}};

// ---- AffineGrid --------------------------------------------------------------------------------

constexpr std::array affine_grid_attributes = {
    AttributeSpecification{"align_corners", AttributeKind::integer, "0"},
    AttributeSpecification{"size", AttributeKind::dimensions},
};

/// theta: [N, n, n + 1] for images of n axes; `size` is [N, C, ...].
Types infer_affine_grid(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 3, 3));
  const Shape& size = in.attributes.dimensions("size");
  if (size.size() < 4 || size.size() > 5)
    return bad_input(fmt::format("a grid for {} axes", size.size()));
  const auto axes = static_cast<std::int64_t>(size.size() - 2);
  LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(0)[0], size[0], "sizes of the batch"));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, in.shape(0)[1], Dimension(axes), "numbers of coordinates and axes"));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, in.shape(0)[2], Dimension(axes + 1), "numbers of factors and axes"));
  Shape shape = {size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.emplace_back(axes);
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_affine_grid(const Instance& in) {
  DefinitionBuilder d;
  const DataType type = in.type(0);
  const Shape& size = in.attributes.dimensions("size");
  const bool aligned = in.attributes.integer("align_corners") != 0;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_affine_grid));
  const std::size_t count = size.size() - 2;
  const auto factor = [&](std::size_t which) {
    return d.read(0, type, {axes[0], axes.back(), d.integer(static_cast<std::int64_t>(which))});
  };
  Expression sum = factor(count);
  for (std::size_t i = 0; i < count; ++i) {
    // The last axis comes first.
    const std::size_t axis = count - i;
    const Expression at = d.cast(axes[axis], type);
    const Expression length = d.cast(d.extent(size[axis + 1]), type), unit = d.real(1, type);
    const Expression twice = at + at;
    const Expression position =
        aligned ? twice / maximum(length - unit, unit) - unit : (twice + unit) / length - unit;
    sum = sum + factor(i) * position;
  }
  d.output(axes, sum);
  return std::move(d).finish();
}

constexpr std::array affine_grid_parameters = {OnnxParameter{"size", 1, 1}};
constexpr std::array affine_grid_onnx = {
    OnnxMapping{.name = "AffineGrid", .since = 20, .parameters = affine_grid_parameters}};

constexpr std::array affine_grid_examples = {
    OperatorExample{"f32[N, 2, 3]", "size=[N, 4, 5, 6]"},
    OperatorExample{"f32[N, 3, 4]", "size=[N, 4, 5, 6, 7]"},
    OperatorExample{"f32[N, 2, 3]", "size=[N, 4, 1, p]; align_corners=1"},
};

constexpr std::array sampling_records = {
    OperatorRecord{.name = "AffineGrid",
                   .summary = "the positions to which an affine map takes those of an image",
                   .attributes = affine_grid_attributes,
                   .infer = infer_affine_grid,
                   .define = define_affine_grid,
                   .onnx = affine_grid_onnx,
                   .examples = affine_grid_examples},
    OperatorRecord{.name = "GridSample",
                   .summary = "an image read at positions that a grid gives",
                   .inputs = {2, 2},
                   .attributes = grid_sample_attributes,
                   .infer = infer_grid_sample,
                   .define = define_grid_sample,
                   .onnx = grid_sample_onnx},
};
static_assert(is_complete(sampling_records));

}  // namespace

std::span<const OperatorRecord> sampling() { return sampling_records; }

}  // namespace lemma::operators
