#include "backend/layout/scaled_weights.h"

#include <algorithm>
#include <cmath>

namespace lemma::backend {

namespace {

constexpr double most_rounding = 0x1p-22;  // of a product, and of the scale

/// Elements first, first + step, ... in rows of so many neighbours.
struct Places {
  const std::vector<double>& elements;
  std::size_t first = 0, length = 0, step = 0, rows = 0;

  template <typename Test>
  bool all_of(const Test& test) const {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = 0; i < length; ++i)
        if (!test(elements[first + row * step + i])) return false;
    return true;
  }
};

bool is_multiple(double element, double scale) {
  const double number = std::nearbyint(element / scale);
  return number >= -128 && number <= 127 &&
         std::abs(element - number * scale) <= most_rounding * std::abs(element);
}

/// The largest scale of which all elements are small multiples.
std::optional<double> scale_of(const Places& places) {
  double greatest = 0;
  places.all_of([&greatest](double element) {
    greatest = std::max(greatest, std::abs(element));
    return true;
  });
  if (greatest == 0) return 1;
  if (!std::isfinite(greatest) || greatest < 0x1p-100) return std::nullopt;
  for (int number = 1; number <= 128; ++number) {
    const double scale = greatest / number;
    if (places.all_of([scale](double element) { return is_multiple(element, scale); }))
      return scale;
  }
  return std::nullopt;
}

std::optional<ScaledWeights> with_scales(const std::vector<double>& elements,
                                         const std::vector<Places>& parts) {
  ScaledWeights result;
  result.numbers.resize(elements.size());
  for (const Places& places : parts) {
    const auto scale = scale_of(places);
    if (!scale) return std::nullopt;
    for (std::size_t row = 0; row < places.rows; ++row)
      for (std::size_t i = 0; i < places.length; ++i) {
        const std::size_t place = places.first + row * places.step + i;
        result.numbers[place] = static_cast<std::int32_t>(std::nearbyint(elements[place] / *scale));
      }
    result.scales.push_back(static_cast<float>(*scale));
  }
  return result;
}

}  // namespace

std::optional<ScaledWeights> scaled_weights(const std::vector<double>& elements,
                                            const lowering::Sizes& sizes,
                                            std::span<const std::size_t> axes) {
  if (elements.empty()) return std::nullopt;
  if (auto result = with_scales(elements, {{elements, 0, elements.size(), 0, 1}})) return result;
  for (const std::size_t axis : axes) {
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < sizes.size(); ++i)
      inner *= static_cast<std::size_t>(sizes[i]);
    const auto extent = static_cast<std::size_t>(sizes[axis]);
    std::vector<Places> parts;
    for (std::size_t i = 0; i < extent; ++i)
      parts.push_back(
          {elements, i * inner, inner, extent * inner, elements.size() / (extent * inner)});
    if (auto result = with_scales(elements, parts)) {
      result->axis = axis;
      return result;
    }
  }
  return std::nullopt;
}

}  // namespace lemma::backend
