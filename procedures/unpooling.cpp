// MaxUnpool: elements go back to the positions from which a pool took them.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

using Values = std::vector<RunTimeValue>;
using Sizes = std::vector<std::int64_t>;

std::int64_t count_of(const Sizes& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

/// The sizes of the tensor that was pooled, as far as the result tells them.
Result<Sizes> pooled_sizes(const ProcedureCall& call, const Sizes& sizes) {
  if (sizes.size() < 3) return bad_input(fmt::format("MaxUnpool of {}", text(call.inputs[0])));
  const std::size_t spatial = sizes.size() - 2;
  const auto kernel = call.attributes.integers("kernel_shape");
  const Integers strides =
      call.attributes.integers("strides").value_or(Integers(spatial, std::int64_t{1}));
  const Integers pads =
      call.attributes.integers("pads").value_or(Integers(2 * spatial, std::int64_t{0}));
  if (!kernel || kernel->size() != spatial || strides.size() != spatial ||
      pads.size() != 2 * spatial)
    return bad_input(fmt::format("the kernel, strides and pads are not those of {} axes", spatial));
  Sizes result = sizes;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t size =
        (sizes[i + 2] - 1) * strides[i] - pads[i] - pads[i + spatial] + (*kernel)[i];
    if (size < 0) return bad_input(fmt::format("axis {} of the result has size {}", i + 2, size));
    result[i + 2] = size;
  }
  return result;
}

/// Where the element of a tensor stands in one that may be larger along every axis.
std::int64_t position_in(std::int64_t position, const Sizes& from, const Sizes& to) {
  std::int64_t result = 0, stride = 1;
  for (std::size_t axis = from.size(); axis-- > 0;) {
    result += position % from[axis] * stride;
    position /= from[axis];
    stride *= to[axis];
  }
  return result;
}

Result<Sizes> sizes_of_result(const ProcedureCall& call, const Sizes& pooled) {
  if (!call.has(2)) return pooled;
  LEMMA_ASSIGN_OR_RETURN(const Constant* given, call.tensor(2));
  if (given->type().data_type != DataType::i64) return bad_input("the sizes are not i64");
  Sizes sizes = given->integers();
  bool is_larger = sizes.size() == pooled.size();
  for (std::size_t i = 0; is_larger && i < sizes.size(); ++i) is_larger = sizes[i] >= pooled[i];
  if (!is_larger)
    return bad_input(fmt::format("the result of [{}] does not fit into the sizes [{}]",
                                 fmt::join(pooled, ", "), fmt::join(sizes, ", ")));
  return sizes;
}

Result<Values> max_unpool(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* x, call.tensor(0));
  LEMMA_ASSIGN_OR_RETURN(const Constant* indices, call.tensor(1));
  if (indices->type().data_type != DataType::i64 || sizes_of(*indices) != sizes_of(*x))
    return bad_input("the indices are not i64, one for each element");
  LEMMA_ASSIGN_OR_RETURN(const Sizes pooled, pooled_sizes(call, sizes_of(*x)));
  LEMMA_ASSIGN_OR_RETURN(const Sizes sizes, sizes_of_result(call, pooled));
  const std::size_t bytes_each = byte_size(x->type().data_type);
  const auto bytes = std::make_shared<std::vector<std::byte>>(
      static_cast<std::size_t>(count_of(sizes)) * bytes_each);
  std::int64_t next = 0;
  for (const std::int64_t index : indices->integers()) {
    if (index < 0 || index >= count_of(pooled))
      return bad_input(fmt::format("index {} is outside of [{}]", index, fmt::join(pooled, ", ")));
    const auto to = static_cast<std::size_t>(position_in(index, pooled, sizes));
    std::memcpy(bytes->data() + to * bytes_each,
                x->bytes().data() + static_cast<std::size_t>(next++) * bytes_each, bytes_each);
  }
  LEMMA_ASSIGN_OR_RETURN(
      Constant result,
      Constant::create({x->type().data_type, Shape(sizes.begin(), sizes.end())}, bytes, *bytes));
  return Values{std::move(result)};
}

constexpr std::array unpooling_procedures = {
    ProcedureRecord{"MaxUnpool", "", 9,
                    "elements at the positions of an image from which a pool took them, zeros "
                    "elsewhere",
                    max_unpool},
};

}  // namespace

std::span<const ProcedureRecord> unpoolings() { return unpooling_procedures; }

}  // namespace lemma::procedures
