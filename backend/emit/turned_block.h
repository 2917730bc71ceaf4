#pragma once
// Blocks of elements that are read along one axis and written along another: what is read is transposed in registers, so
// that memory is gone through along its rows on both sides.

#include <optional>
#include <vector>

#include "backend/emit/emit_element.h"
#include "lowering/lower.h"

namespace lemma::backend {

/// Elements along the last axis, by elements along another one, along which some operands lie side by side.
struct TurnedBlock {
  std::size_t row_axis = 0, lane_axis = 0;  // positions in `axes` of the nest
  std::int64_t rows = 0, lanes = 0;
  /// The loop over rows is the innermost one: of the tensors that are read and written, the one with the shorter steps is gone
  /// through in its order, in whole pages.
  bool has_rows_inside = false;
  std::vector<lowering::TermNumber> reads;  // of those operands
};

/// Nothing for nests with sums, or where no such operand is read without a bound to check. `least_extents`: as for
/// find_block.
std::optional<TurnedBlock> find_turned_block(const lowering::LoweredOutput& nest,
                                             const std::vector<std::int64_t>& least_extents);

/// Statements that compute and store a block: as emit_block.
Result<source::Statements> emit_turned_block(const lowering::LoweredOutput& nest,
                                             const TurnedBlock& block, const ElementStore& store);

}  // namespace lemma::backend
