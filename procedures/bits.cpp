// Operators that read the bits of elements, or whose arithmetic branches on values.

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

using Values = std::vector<RunTimeValue>;

/// Reinterprets the bits of floating-point numbers; integers have a record (BitCast in
/// operators/logic.cpp).
Result<Values> bit_cast(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* x, call.tensor(0));
  const std::int64_t to = call.attributes.integer("to", 0);
  if (to <= 0 || to >= data_type_count) return bad_input(fmt::format("no element type {}", to));
  const auto type = static_cast<DataType>(to);
  if (bits(type) != bits(x->type().data_type))
    return bad_input(
        fmt::format("the bits of {} as those of {}", name(x->type().data_type), name(type)));
  if (type == DataType::boolean || x->type().data_type == DataType::boolean)
    return unsupported("BitCast of booleans");
  LEMMA_ASSIGN_OR_RETURN(Constant result,
                         Constant::create({type, x->type().shape}, x->owner(), x->bytes()));
  return Values{std::move(result)};
}

/// The determinant by elimination with partial pivoting, in f64.
double determinant(std::vector<double> matrix, std::size_t n) {
  double result = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(matrix[i * n + k]) > std::abs(matrix[pivot * n + k])) pivot = i;
    if (matrix[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      for (std::size_t j = 0; j < n; ++j) std::swap(matrix[k * n + j], matrix[pivot * n + j]);
      result = -result;
    }
    result *= matrix[k * n + k];
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = matrix[i * n + k] / matrix[k * n + k];
      for (std::size_t j = k; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
    }
  }
  return result;
}

Result<Values> det(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* x, call.tensor(0));
  std::vector<std::int64_t> sizes = sizes_of(*x);
  const DataType type = x->type().data_type;
  if (sizes.size() < 2 || sizes.back() != sizes[sizes.size() - 2])
    return bad_input(fmt::format("Det of {}", text(call.inputs[0])));
  if (type != DataType::f32 && type != DataType::f64)
    return unsupported(fmt::format("Det of {}", name(type)));
  const auto n = static_cast<std::size_t>(sizes.back());
  sizes.resize(sizes.size() - 2);
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  const std::vector<double> elements = x->reals();
  std::vector<double> results;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = elements.begin() + static_cast<std::ptrdiff_t>(i * n * n);
    results.push_back(determinant({first, first + static_cast<std::ptrdiff_t>(n * n)}, n));
  }
  if (type == DataType::f64) return Values{Constant::of(type, sizes, results)};
  return Values{Constant::of(type, sizes, std::vector<float>(results.begin(), results.end()))};
}

constexpr std::array bit_procedures = {
    ProcedureRecord{"BitCast", "", 26, "the bits of an element as another type of as many bits",
                    bit_cast},
    ProcedureRecord{"Det", "", 11, "the determinants of the matrices of the last two axes", det},
};

}  // namespace

std::span<const ProcedureRecord> bit_functions() { return bit_procedures; }

}  // namespace lemma::procedures
