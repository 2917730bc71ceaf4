// RoiAlign: regions of images at one resolution (He, Gkioxari, Dollar, Girshick, Mask R-CNN, 2017, section 3). How many
// samples an element is made of may depend on the size of its region.

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

using Values = std::vector<RunTimeValue>;

/// The four elements around a position and their weights; all weights are 0 outside of the image.
struct Sample {
  std::array<std::size_t, 4> at = {};
  std::array<double, 4> weights = {};
};

Sample sample_at(double y, double x, std::int64_t height, std::int64_t width) {
  const auto rows = static_cast<double>(height), columns = static_cast<double>(width);
  if (height == 0 || width == 0 || !(y >= -1 && y <= rows && x >= -1 && x <= columns)) return {};
  const auto part = [](double position, double size) {
    const double inside = std::min(std::max(position, 0.0), size - 1);
    const double low = std::floor(inside);
    return std::array<double, 3>{low, std::min(low + 1, size - 1), inside - low};
  };
  const auto [top, bottom, down] = part(y, rows);
  const auto [left, right, across] = part(x, columns);
  const auto position = [&](double row, double column) {
    return static_cast<std::size_t>(row * columns + column);
  };
  return {
      {position(top, left), position(top, right), position(bottom, left), position(bottom, right)},
      {(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across}};
}

/// What the node's attributes say.
struct Alignment {
  std::int64_t rows = 1, columns = 1;  // of the result
  std::int64_t samples = 0;            // along each axis of an element; 0: as many as it has pixels
  double scale = 1;
  bool is_shifted = true;  // positions are those of the middles of pixels
  bool takes_largest = false;
};

Result<Alignment> alignment_of(const ProcedureCall& call) {
  Alignment result;
  const NodeAttributes& attributes = call.attributes;
  result.rows = attributes.integer("output_height", 1);
  result.columns = attributes.integer("output_width", 1);
  result.samples = attributes.integer("sampling_ratio", 0);
  result.scale = attributes.real("spatial_scale", 1);
  const std::string mode = attributes.string("mode", "avg");
  // The attribute came with operator set 16.
  const std::string transformation =
      attributes.string("coordinate_transformation_mode",
                        call.operator_set < 16 ? "output_half_pixel" : "half_pixel");
  result.is_shifted = transformation == "half_pixel";
  result.takes_largest = mode == "max";
  if (result.rows < 1 || result.columns < 1 || result.samples < 0)
    return bad_input("sizes and samples of regions are not positive");
  if (!result.is_shifted && transformation != "output_half_pixel")
    return bad_input(fmt::format("coordinate_transformation_mode is '{}'", transformation));
  if (!result.takes_largest && mode != "avg") return bad_input(fmt::format("mode is '{}'", mode));
  return result;
}

/// The samples of every element of one region, in row-major order.
std::vector<std::vector<Sample>> samples_of(std::span<const double> corners, const Alignment& a,
                                            std::int64_t height, std::int64_t width) {
  const double shift = a.is_shifted ? 0.5 : 0;
  const auto start = [&](std::size_t i) { return corners[i] * a.scale - shift; };
  const auto extent = [&](std::size_t from, std::size_t to) {
    const double length = start(to) - start(from);
    return a.is_shifted ? length : std::max(length, 1.0);
  };
  const double step_y = extent(1, 3) / static_cast<double>(a.rows);
  const double step_x = extent(0, 2) / static_cast<double>(a.columns);
  const auto count = [&](double step) {
    return a.samples > 0 ? a.samples : static_cast<std::int64_t>(std::ceil(step));
  };
  const std::int64_t down = count(step_y), across = count(step_x);
  std::vector<std::vector<Sample>> result;
  for (std::int64_t row = 0; row < a.rows; ++row)
    for (std::int64_t column = 0; column < a.columns; ++column) {
      std::vector<Sample>& samples = result.emplace_back();
      for (std::int64_t i = 0; i < down; ++i)
        for (std::int64_t j = 0; j < across; ++j) {
          const auto middle = [](std::int64_t k, std::int64_t of) {
            return (static_cast<double>(k) + 0.5) / static_cast<double>(of);
          };
          const double y = start(1) + (static_cast<double>(row) + middle(i, down)) * step_y;
          const double x = start(0) + (static_cast<double>(column) + middle(j, across)) * step_x;
          samples.push_back(sample_at(y, x, height, width));
        }
    }
  return result;
}

/// The mean of the samples, or, as ONNX Runtime has it, the largest of their weighted elements.
double value_of(const std::vector<Sample>& samples, std::span<const double> image,
                bool takes_largest) {
  double sum = 0, largest = 0;
  bool is_first = true;
  for (const Sample& sample : samples)
    for (std::size_t k = 0; k < 4; ++k) {
      const double term = sample.weights[k] == 0 ? 0 : sample.weights[k] * image[sample.at[k]];
      sum += term;
      largest = is_first ? term : std::max(largest, term);
      is_first = false;
    }
  if (takes_largest) return largest;
  return sum / static_cast<double>(std::max<std::size_t>(samples.size(), 1));
}

Result<Values> roi_align(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* images, call.tensor(0));
  LEMMA_ASSIGN_OR_RETURN(const Constant* boxes, call.tensor(1));
  LEMMA_ASSIGN_OR_RETURN(const Constant* batch, call.tensor(2));
  LEMMA_ASSIGN_OR_RETURN(const Alignment alignment, alignment_of(call));
  const auto sizes = sizes_of(*images), of_boxes = sizes_of(*boxes);
  const DataType type = images->type().data_type;
  if (type != DataType::f32 && type != DataType::f64)
    return unsupported(fmt::format("RoiAlign of {}", name(type)));
  if (sizes.size() != 4 || of_boxes.size() != 2 || of_boxes[1] != 4 ||
      sizes_of(*batch) != std::vector{of_boxes[0]} || batch->type().data_type != DataType::i64)
    return bad_input(fmt::format("RoiAlign of {}, {} and {}", text(call.inputs[0]),
                                 text(call.inputs[1]), text(call.inputs[2])));
  const std::vector<double> elements = images->reals(), corners = boxes->reals();
  const auto plane = static_cast<std::size_t>(sizes[2] * sizes[3]);
  std::vector<double> result;
  std::size_t box = 0;
  for (const std::int64_t image : batch->integers()) {
    if (image < 0 || image >= sizes[0])
      return bad_input(fmt::format("there is no image {}", image));
    const auto samples =
        samples_of(std::span(corners).subspan(4 * box++, 4), alignment, sizes[2], sizes[3]);
    for (std::int64_t channel = 0; channel < sizes[1]; ++channel) {
      const auto first = static_cast<std::size_t>(image * sizes[1] + channel) * plane;
      for (const std::vector<Sample>& each : samples)
        result.push_back(
            value_of(each, std::span(elements).subspan(first, plane), alignment.takes_largest));
    }
  }
  const std::vector<std::int64_t> shape = {of_boxes[0], sizes[1], alignment.rows,
                                           alignment.columns};
  if (type == DataType::f64) return Values{Constant::of(type, shape, result)};
  return Values{Constant::of(type, shape, std::vector<float>(result.begin(), result.end()))};
}

constexpr std::array region_procedures = {
    ProcedureRecord{"RoiAlign", "", 10,
                    "regions of images at one resolution, interpolated, as means or maxima",
                    roi_align},
};

}  // namespace

std::span<const ProcedureRecord> regions() { return region_procedures; }

}  // namespace lemma::procedures
