// Operators that pick elements by their values: NonZero, Compress and Unique.

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "procedures/constant_pieces.h"
#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

using Values = std::vector<RunTimeValue>;
using Positions = std::vector<std::int64_t>;

Constant vector_of(const Positions& elements) { return Constant::of_integers(elements); }

std::vector<bool> non_zero(const Constant& tensor) {
  std::vector<bool> result;
  if (is_real(tensor.type().data_type))
    for (const double element : tensor.reals()) result.push_back(element != 0);
  else
    for (const std::int64_t element : tensor.integers()) result.push_back(element != 0);
  return result;
}

Result<Values> nonzero(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* x, call.tensor(0));
  // A scalar is a vector of one element; its index has one coordinate.
  std::vector<std::int64_t> sizes = sizes_of(*x);
  if (sizes.empty()) return unsupported("NonZero of a scalar");
  const std::vector<bool> elements = non_zero(*x);
  const auto count = static_cast<std::int64_t>(std::count(elements.begin(), elements.end(), true));
  Positions indices(sizes.size() * static_cast<std::size_t>(count));
  std::size_t written = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i]) continue;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = sizes.size(); axis-- > 0; rest /= sizes[axis])
      indices[axis * static_cast<std::size_t>(count) + written] = rest % sizes[axis];
    ++written;
  }
  return Values{
      Constant::of(DataType::i64, {static_cast<std::int64_t>(sizes.size()), count}, indices)};
}

struct AlongAxis {
  Constant x;
  std::size_t axis;
};

/// The first operand along an axis; without an attribute `axis`, all elements as a vector.
Result<AlongAxis> first_operand_along_axis(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* given, call.tensor(0));
  AlongAxis result{*given, 0};
  const auto count = static_cast<std::int64_t>(given->element_count());
  if (call.attributes.values.has("axis")) {
    LEMMA_ASSIGN_OR_RETURN(result.axis,
                           axis_of(call.attributes.integer("axis", 0), given->type().rank()));
  } else {
    LEMMA_ASSIGN_OR_RETURN(result.x, with_sizes(*given, {count}));
  }
  return result;
}

Result<Values> compress(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* condition, call.tensor(1));
  if (condition->type().data_type != DataType::boolean || condition->type().rank() != 1)
    return bad_input("the condition of Compress is no vector of booleans");
  LEMMA_ASSIGN_OR_RETURN(const auto sliced, first_operand_along_axis(call));
  const auto& [x, axis] = sliced;
  const std::vector<bool> keeps = non_zero(*condition);
  const auto size = static_cast<std::size_t>(sizes_of(x)[axis]);
  Positions kept;
  for (std::size_t i = 0; i < keeps.size(); ++i) {
    if (!keeps[i]) continue;
    if (i >= size) return bad_input("the condition of Compress is longer than the axis");
    kept.push_back(static_cast<std::int64_t>(i));
  }
  LEMMA_ASSIGN_OR_RETURN(Constant result, gathered(x, axis, kept));
  return Values{std::move(result)};
}

// ---- Unique -------------------------------------------------------------------------------------

/// Slices of an axis as rows of elements that compare like those of the tensor.
template <typename T>
std::vector<std::vector<T>> rows_of(const std::vector<T>& elements,
                                    const std::vector<std::int64_t>& sizes, std::size_t axis) {
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < sizes.size(); ++i) inner *= static_cast<std::size_t>(sizes[i]);
  const auto size = static_cast<std::size_t>(sizes[axis]);
  std::vector<std::vector<T>> rows(size);
  for (std::size_t i = 0; i < elements.size(); ++i) rows[i / inner % size].push_back(elements[i]);
  return rows;
}

struct Distinct {
  Positions first, inverse, counts;
};

template <typename T>
Distinct distinct_rows(const std::vector<std::vector<T>>& rows, bool is_sorted) {
  Positions order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  const auto row = [&rows](std::int64_t i) -> const std::vector<T>& {
    return rows[static_cast<std::size_t>(i)];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return row(a) < row(b); });
  std::vector<Positions> groups;  // equal rows, the first one first
  for (const std::int64_t i : order) {
    if (groups.empty() || row(groups.back().front()) != row(i)) groups.emplace_back();
    groups.back().push_back(i);
  }
  if (!is_sorted)
    std::sort(groups.begin(), groups.end(),
              [](const Positions& a, const Positions& b) { return a.front() < b.front(); });
  Distinct result;
  result.inverse.resize(rows.size());
  for (std::size_t k = 0; k < groups.size(); ++k) {
    result.first.push_back(groups[k].front());
    result.counts.push_back(static_cast<std::int64_t>(groups[k].size()));
    for (const std::int64_t i : groups[k])
      result.inverse[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(k);
  }
  return result;
}

Result<Distinct> distinct_slices(const Constant& x, std::size_t axis, bool is_sorted) {
  const std::vector<std::int64_t> sizes = sizes_of(x);
  if (!is_real(x.type().data_type)) {
    if (x.type().data_type != DataType::u64)
      return distinct_rows(rows_of(x.integers(), sizes, axis), is_sorted);
    const std::vector<std::int64_t> bits = x.integers();
    return distinct_rows(rows_of(std::vector<std::uint64_t>(bits.begin(), bits.end()), sizes, axis),
                         is_sorted);
  }
  const std::vector<double> elements = x.reals();
  if (std::any_of(elements.begin(), elements.end(), [](double e) { return std::isnan(e); }))
    return unsupported("Unique of a tensor with NaN");
  return distinct_rows(rows_of(elements, sizes, axis), is_sorted);
}

Result<Values> unique(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const auto sliced, first_operand_along_axis(call));
  const auto& [x, axis] = sliced;
  if (x.element_count() == 0 && sizes_of(x)[axis] != 0)
    return unsupported("Unique of slices without elements");
  LEMMA_ASSIGN_OR_RETURN(const Distinct distinct,
                         distinct_slices(x, axis, call.attributes.integer("sorted", 1) != 0));
  LEMMA_ASSIGN_OR_RETURN(Constant result, gathered(x, axis, distinct.first));
  return Values{std::move(result), vector_of(distinct.first), vector_of(distinct.inverse),
                vector_of(distinct.counts)};
}

constexpr std::array selection_procedures = {
    ProcedureRecord{"Compress", "", 9, "the slices of an axis for which a condition holds",
                    compress},
    ProcedureRecord{"NonZero", "", 9, "the indices of the elements that are not 0, a column each",
                    nonzero},
    ProcedureRecord{"Unique", "", 11,
                    "the distinct elements, or slices of an axis; where each is first, which one "
                    "each is, and how often it is there",
                    unique},
};

}  // namespace

std::span<const ProcedureRecord> selections() { return selection_procedures; }

}  // namespace lemma::procedures
