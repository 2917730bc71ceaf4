#include "backend/layout/window_transform.h"

#include "lowering/field.h"

namespace lemma::backend {

namespace {

using lowering::Residue;

constexpr double a = 0.625, b = 1.5;  // the points beside 0 and infinity, with both signs

template <typename Number>
using Matrix = std::array<std::array<Number, window_side>, tile_side>;

/// Rows (1, p, p^2) / N, where N is the product of the differences of p and the other points; and (0, 0, 1).
template <typename Number>
Matrix<Number> matrix_of_windows(const Number& zero, const Number& unit, const Number& first,
                                 const Number& second) {
  const Number x = first * first, y = second * second;
  const Number of_zero = x * y, of_first = (x + x) * (x - y), of_second = (y + y) * (y - x);
  Matrix<Number> result;
  result[0] = {unit / of_zero, zero, zero};
  result[1] = {unit / of_first, first / of_first, x / of_first};
  result[2] = {unit / of_first, (zero - first) / of_first, x / of_first};
  result[3] = {unit / of_second, second / of_second, y / of_second};
  result[4] = {unit / of_second, (zero - second) / of_second, y / of_second};
  result[5] = {zero, zero, unit};
  return result;
}

/// `sizes`: [filters / panel, 36, channels, panel]. `store`: takes a place and an element.
template <typename Number, typename Store>
void transform_windows(const std::vector<Number>& windows, const Matrix<Number>& g,
                       const lowering::Sizes& sizes, const Store& store) {
  constexpr std::int64_t size = window_side * window_side;
  const std::int64_t channels = sizes[2], panel = sizes[3];
  for (std::int64_t k = 0; k < sizes[0] * panel; ++k)
    for (std::int64_t c = 0; c < channels; ++c) {
      const Number* const window = &windows[static_cast<std::size_t>((k * channels + c) * size)];
      Matrix<Number> half;
      for (std::size_t i = 0; i < tile_side; ++i)
        for (std::size_t j = 0; j < window_side; ++j)
          half[i][j] = g[i][0] * window[j] + g[i][1] * window[window_side + j] +
                       g[i][2] * window[2 * window_side + j];
      for (std::size_t i = 0; i < tile_side; ++i)
        for (std::size_t j = 0; j < tile_side; ++j)
          store(((k / panel * sizes[1] + static_cast<std::int64_t>(i * tile_side + j)) * channels +
                 c) * panel +
                    k % panel,
                half[i][0] * g[j][0] + half[i][1] * g[j][1] + half[i][2] * g[j][2]);
    }
}

Result<Residue> residue_of(double value) {
  LEMMA_ASSIGN_OR_RETURN(
      const std::uint64_t lane,
      lowering::constant_lane(value, 0, DataType::f32, lowering::Domain::prime_field));
  return Residue{lane};
}

Result<Constant> residues(const std::vector<double>& windows, const lowering::Sizes& sizes) {
  std::vector<Residue> elements;
  elements.reserve(windows.size());
  for (const double element_value : windows) {
    LEMMA_ASSIGN_OR_RETURN(const Residue element, residue_of(element_value));
    elements.push_back(element);
  }
  LEMMA_ASSIGN_OR_RETURN(const Residue first, residue_of(a));
  LEMMA_ASSIGN_OR_RETURN(const Residue second, residue_of(b));
  std::vector<std::uint64_t> result(
      static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]));
  transform_windows(elements, matrix_of_windows(Residue::of(0), Residue::of(1), first, second),
                    sizes, [&result](std::int64_t at, Residue value) {
                      result[static_cast<std::size_t>(at)] = value.v;
                    });
  return Constant::of(DataType::u64, sizes, result);
}

}  // namespace

std::array<Expression, tile_side> transformed_tile_row(DefinitionBuilder& builder,
                                                       const std::array<Expression, tile_side>& x) {
  const auto real = [&builder](double value) { return builder.real(value, DataType::f32); };
  const auto pair = [&](double point, double other) {
    const Expression even = x[4] - x[2] * real(other * other),
                     odd = (x[3] - x[1] * real(other * other)) * real(point);
    return std::pair(even + odd, even - odd);
  };
  const auto [first, minus_first] = pair(a, b);
  const auto [second, minus_second] = pair(b, a);
  const Expression sum = real(a * a + b * b), product = real(a * a * b * b);
  return {x[4] - x[2] * sum + x[0] * product, first, minus_first, second, minus_second,
          x[5] - x[3] * sum + x[1] * product};
}

std::array<Expression, result_side> transformed_product_row(
    DefinitionBuilder& builder, const std::array<Expression, tile_side>& x) {
  const auto real = [&builder](double value) { return builder.real(value, DataType::f32); };
  const Expression first = x[1] + x[2], minus_first = x[1] - x[2], second = x[3] + x[4],
                   minus_second = x[3] - x[4];
  return {x[0] + first + second, minus_first * real(a) + minus_second * real(b),
          first * real(a * a) + second * real(b * b),
          minus_first * real(a * a * a) + minus_second * real(b * b * b) + x[5]};
}

Result<Constant> transformed_windows(const Constant& windows, std::int64_t panel,
                                     lowering::Domain domain) {
  const Shape& shape = *windows.type().shape;
  const lowering::Sizes sizes = {shape[0].offset() / panel, tile_side * tile_side,
                                 shape[1].offset(), panel};
  if (domain == lowering::Domain::prime_field) return residues(windows.reals(), sizes);
  std::vector<float> result(static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]));
  transform_windows(windows.reals(), matrix_of_windows(0.0, 1.0, a, b), sizes,
                    [&result](std::int64_t at, double value) {
                      result[static_cast<std::size_t>(at)] = static_cast<float>(value);
                    });
  return Constant::of(DataType::f32, sizes, result);
}

}  // namespace lemma::backend
