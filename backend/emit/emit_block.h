#pragma once
// The body of a loop nest for a block of elements at a time, so that sums of neighbouring elements run side by side:
// the compiler makes vectors of the lanes, and each element that is loaded is used for several rows. Sums of products, as of
// matrix products and convolutions, are written with vectors that stay in registers. The terms of a sum are added up in
// the same order as for one element.

#include <optional>
#include <string>

#include "backend/emit/emit_element.h"
#include "backend/loop_schedule.h"
#include "lowering/lower.h"

namespace lemma::backend {

/// Elements along two axes, given by their positions in `axes` of the nest: lanes along the last one, and rows along
/// another, if it has any; or, where weights are in panels (backend/panels.h), rows along the last one and lanes
/// along the channels. How many follows from the registers where the source is compiled (parts/vectors.h) and from
/// the smallest extent that it has to fit into; the source calls the numbers `lanes` and `rows`.
struct ElementBlock {
  std::size_t lane_axis = 0, row_axis = 0;
  std::int64_t lane_extent = 1, row_extent = 1;
  LoopOrder order = LoopOrder::rows_outside;
  std::int64_t chunk = 0;  // elements along the lanes, of LoopOrder::chunks
  LoopSchedule schedule =
      {};  // its fields of blocks take the place of what the source would choose
  bool converts =
      false;  // conversions of f16 and some functions are for all lanes at once; there are no sums

  bool has_rows() const { return row_extent > 1; }
  bool has_channel_lanes() const { return has_rows() && row_axis > lane_axis; }
};

/// The most lanes of a block that converts: so many that loops are long, and few enough for the nearest cache.
inline constexpr std::int64_t lanes_of_conversions = 256;

/// Declarations of `lanes`, and of `rows` where there are any.
Result<source::Statements> block_sizes(const lowering::LoweredOutput& nest,
                                       const ElementBlock& block);

/// A block that pays; nothing where elements are better computed one by one. `least_extents`: the smallest extent of
/// each axis that a block has to fit into.
std::optional<ElementBlock> find_block(const lowering::LoweredOutput& nest,
                                       const std::vector<std::int64_t>& least_extents,
                                       const LoopSchedule& schedule = {});

/// Statements that compute and store a block, where `start_i0` is the first index of the block along the axis that
/// is called i0, for the axes of the block, and other axes' variables are in scope. `has_quotients`: fast::quotient divides
/// by what is the same for a row.
Result<source::Statements> emit_block(const lowering::LoweredOutput& nest,
                                      const ElementBlock& block, const ElementStore& store,
                                      bool has_quotients = false);

}  // namespace lemma::backend
