#pragma once
// Parts of constants, and constants put together. Elements have at least 8 bits: `unsupported` for others.

#include <cstdint>
#include <span>
#include <vector>

#include "ir/constant.h"

namespace lemma {

/// The slices of an axis at the given positions, in that order. Each lies within the axis.
Result<Constant> gathered(const Constant& source, std::size_t axis,
                          std::span<const std::int64_t> positions);
/// The slices from `begin` on, `count` of them.
Result<Constant> piece(const Constant& source, std::size_t axis, std::int64_t begin,
                       std::int64_t count);
/// The parts one after the other along an axis. They have the same element type and, except for that axis, the same
/// sizes: an error otherwise, and where there are none.
Result<Constant> joined(std::span<const Constant> parts, std::size_t axis);
/// The same elements under other sizes, whose product is the same.
Result<Constant> with_sizes(const Constant& source, const std::vector<std::int64_t>& sizes);

}  // namespace lemma
