#pragma once
// A loop nest as source: loops around the elements of a part of a result.

#include <string>
#include <string_view>
#include <vector>

#include "backend/emit/statements.h"
#include "backend/loop_schedule.h"
#include "lowering/lower.h"

namespace lemma::backend {

/// Bounds of the loop of an axis, as expressions, how many elements lie between them at least, and how many the axis
/// has. Both bounds are multiples of a number, as a compiler sees from their declarations.
struct LoopBounds {
  std::string first, end;
  std::int64_t least = 0, extent = 0;
  std::int64_t multiple = 1;
};
std::vector<LoopBounds> all_of(const lowering::LoweredOutput& nest);

/// A loop for each axis, the last one fastest, and stores to `result`, a pointer to elements in row-major order.
/// Inputs are called as in emit_element.h.
Result<source::Statements> emit_nest(const lowering::LoweredOutput& nest,
                                     const std::vector<LoopBounds>& bounds,
                                     std::string_view result);

/// The same by blocks of elements (emit_block.h) where that pays. Where the bounds hold no whole number of blocks, the
/// last block begins earlier, and some elements are computed twice.
Result<source::Statements> emit_blocked_nest(const lowering::LoweredOutput& nest,
                                             const std::vector<LoopBounds>& bounds,
                                             std::string_view result,
                                             const LoopSchedule& schedule = {});

/// The inputs that the nest reads.
std::vector<bool> used_inputs(const lowering::LoweredOutput& nest);

}  // namespace lemma::backend
