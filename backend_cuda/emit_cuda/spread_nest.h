#pragma once
// A loop nest whose elements are spread over the threads of a block or of a warp.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/emit/emit_nest.h"

namespace lemma::backend {

/// The reads of whose neighbours along the last axis a thread needs all, where it computes so many elements side by side, by
/// input: the only reads of these, inside their tensors in the device's memory and at places that are multiples of how many are
/// read.
std::map<std::uint32_t, lowering::TermNumber> reads_of_neighbours(
    const lowering::LoweredOutput& nest, const std::vector<bool>& is_in_block,
    std::int64_t together);

/// How many elements lie between the bounds, as an expression.
std::string length_text(const LoopBounds& bounds);
/// The same of several axes, which are multiplied.
std::string count_text(const std::vector<LoopBounds>& bounds);
/// "first + index", where the first is not 0.
std::string index_text(const LoopBounds& bounds, const std::string& index);

/// Declarations of the indices of axes from their number in row-major order, of a type without a sign.
source::Statements declare_indices(const std::vector<lowering::LoopVariable>& axes,
                                   const std::vector<LoopBounds>& bounds, const std::string& type,
                                   const std::string& number);

/// Statements that compute the elements between the bounds of each axis and store them to `y`. In scope are the inputs,
/// called as in emit_element.h, `y`, and `threads`, which all take part (parts/run_time.cuh.in). `is_in_block`: by input. `is_stored_in_memory`:
/// `y` is a pointer to the device's memory, else it may be a window. `group_threads` share the elements, and a warp has `warp_lanes` of them. A thread computes whole elements, several together that lie side by side where that makes accesses wider, or neighbouring lanes of a warp share the terms of an element's reductions (blocks/shared_terms.h).
Result<source::Statements> emit_spread_nest(const lowering::LoweredOutput& nest,
                                            const std::vector<LoopBounds>& bounds,
                                            const std::vector<bool>& is_in_block,
                                            bool is_stored_in_memory, std::int64_t group_threads,
                                            std::int64_t warp_lanes);

}  // namespace lemma::backend
