#pragma once
// How the elements of a loop nest are spread over the threads of a block or warp: whole elements, or elements whose reductions
// several lanes share.

#include <vector>

#include "lowering/lower.h"

namespace lemma::backend {

inline constexpr std::uint32_t cuda_warp_size = 32;  // "warp_size" in the source

/// Whether the reduction is one whose terms lanes can share: its last loop gives each lane some.
bool is_long_reduction(const lowering::LoweredOutput& nest, const lowering::Term& term);

/// Neighbouring lanes of a warp share the terms of an element, and the groups of the warp have neighbouring elements.
struct Spread {
  std::vector<std::int64_t> lengths;  // of the smallest part of the nest, by axis
  std::int64_t lanes = 1;             // of an element: a power of two, of a warp at most

  std::int64_t elements() const;
};

/// The number of lanes with which the elements take least (analytic): of many elements each thread has whole ones; lanes share the
/// terms of a long reduction where elements are fewer than threads, or where neighbouring threads would read elements that
/// are far from each other. `is_in_block`: by input, whether it is in the memory of the block.
Spread spread_of(const lowering::LoweredOutput& nest, const std::vector<bool>& is_in_block,
                 std::vector<std::int64_t> lengths, std::int64_t group_threads);

/// How many lines of memory, of 128 bytes each, the lanes of a warp read at once. Index arithmetic that is not linear counts
/// as a constant.
std::int64_t lines_of_read(const lowering::LoweredOutput& nest, const lowering::Term& read,
                           const Spread& spread);

/// The same of stores of the result.
std::int64_t lines_of_store(const lowering::LoweredOutput& nest, const Spread& spread);

}  // namespace lemma::backend
