// MelWeightMatrix: triangles over the frequencies of a spectrum, evenly spaced on the mel scale (Stevens, Volkmann, Newman,
// 1937; the formula is that of the ONNX operator).

#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

using Values = std::vector<RunTimeValue>;

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

struct MelScale {
  std::int64_t bins = 0, length = 0, rate = 0;  // of the result, of the transform, samples a second
  double lower = 0, upper = 0;                  // Hz
};

Result<double> number(const ProcedureCall& call, std::size_t i) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* operand, call.tensor(i));
  if (operand->element_count() != 1) return bad_input(fmt::format("input {} is no number", i));
  return operand->reals().front();
}

Result<MelScale> scale_of(const ProcedureCall& call) {
  MelScale scale;
  LEMMA_ASSIGN_OR_RETURN(scale.bins, call.integer(0));
  LEMMA_ASSIGN_OR_RETURN(scale.length, call.integer(1));
  LEMMA_ASSIGN_OR_RETURN(scale.rate, call.integer(2));
  LEMMA_ASSIGN_OR_RETURN(scale.lower, number(call, 3));
  LEMMA_ASSIGN_OR_RETURN(scale.upper, number(call, 4));
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  if (scale.bins < 1 || scale.length < 1 || scale.rate < 1 || scale.bins > limit ||
      scale.length > limit || !(scale.lower >= 0) || !(scale.upper >= scale.lower))
    return bad_input(
        fmt::format("no {} bins of a transform of {} elements, {} a second, from {} "
                    "to {} Hz",
                    scale.bins, scale.length, scale.rate, scale.lower, scale.upper));
  return scale;
}

/// The positions in the spectrum where triangles begin, have their tips, and end: two more than there are triangles.
std::vector<std::int64_t> corners_of(const MelScale& scale) {
  const double low = mel_of(scale.lower), high = mel_of(scale.upper);
  const double step = (high - low) / static_cast<double>(scale.bins + 2);
  std::vector<std::int64_t> corners;
  for (std::int64_t i = 0; i < scale.bins + 2; ++i)
    corners.push_back(static_cast<std::int64_t>(std::floor(
        static_cast<double>(scale.length + 1) * hertz_of(static_cast<double>(i) * step + low) /
        static_cast<double>(scale.rate))));
  return corners;
}

Result<Values> mel_weight_matrix(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const MelScale scale, scale_of(call));
  const auto type = static_cast<DataType>(
      call.attributes.integer("output_datatype", static_cast<std::int64_t>(DataType::f32)));
  if (type != DataType::f32 && type != DataType::f64)
    return unsupported(fmt::format("MelWeightMatrix of {}", name(type)));
  const std::int64_t frequencies = scale.length / 2 + 1;
  const std::vector<std::int64_t> corners = corners_of(scale);
  if (corners.back() > frequencies)
    return bad_input(fmt::format("{} Hz are beyond the {} frequencies of the spectrum", scale.upper,
                                 frequencies));
  std::vector<double> weights(static_cast<std::size_t>(frequencies * scale.bins));
  for (std::int64_t bin = 0; bin < scale.bins; ++bin) {
    const auto i = static_cast<std::size_t>(bin);
    const std::int64_t begin = corners[i], tip = corners[i + 1], end = corners[i + 2];
    const auto set = [&](std::int64_t frequency, double value) {
      if (frequency < frequencies)
        weights[static_cast<std::size_t>(frequency * scale.bins + bin)] = value;
    };
    const auto ratio = [](std::int64_t a, std::int64_t b) {
      return static_cast<double>(a) / static_cast<double>(b);
    };
    if (begin == tip) set(tip, 1);
    for (std::int64_t k = begin; begin < tip && k <= tip; ++k)
      set(k, ratio(k - begin, tip - begin));
    for (std::int64_t k = tip; k < end; ++k) set(k, ratio(end - k, end - tip));
  }
  const std::vector<std::int64_t> shape = {frequencies, scale.bins};
  if (type == DataType::f64) return Values{Constant::of(type, shape, weights)};
  return Values{Constant::of(type, shape, std::vector<float>(weights.begin(), weights.end()))};
}

constexpr std::array mel_procedures = {
    ProcedureRecord{"MelWeightMatrix", "", 17,
                    "triangles over the frequencies of a spectrum, evenly spaced on the mel scale",
                    mel_weight_matrix},
};

}  // namespace

std::span<const ProcedureRecord> mel_weights() { return mel_procedures; }

}  // namespace lemma::procedures
