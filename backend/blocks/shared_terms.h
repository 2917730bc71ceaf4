#pragma once
// How the elements of a loop nest are spread over the threads of a block or warp: whole elements, or elements whose reductions
// several lanes share.

#include <vector>

#include "backend/lane_terms.h"
#include "lowering/lower.h"

namespace lemma::backend {

/// Terms of which lanes can share a reduction.
inline constexpr std::int64_t least_shared_terms = 32;
/// Of any device ("warp_size" in the source is that of the device).
inline constexpr std::int64_t most_warp_lanes = 64;

/// Whether the reduction is one whose terms lanes can share: its last loop gives each lane some.
bool is_long_reduction(const lowering::LoweredOutput& nest, const lowering::Term& term);

/// Neighbouring lanes of a warp share the terms of an element, and the groups of the warp have neighbouring elements.
struct Spread {
  std::vector<std::int64_t> lengths;  // of the smallest part of the nest, by axis
  std::int64_t lanes = 1;             // of an element: a power of two, of a warp at most
  std::int64_t warp_lanes = 32;

  std::int64_t elements() const;
};

/// The number of lanes with which the elements take least (analytic): of many elements each thread has whole ones; lanes share the
/// terms of a long reduction where elements are fewer than threads, or where neighbouring threads would read elements that
/// are far from each other. `is_in_block`: by input, whether it is in the memory of the block.
Spread spread_of(const lowering::LoweredOutput& nest, const std::vector<bool>& is_in_block,
                 std::vector<std::int64_t> lengths, std::int64_t group_threads,
                 std::int64_t warp_lanes);

/// Elements that a thread computes together: some that lie side by side, of several groups that are far from each other. All
/// is read before anything is stored, so that compilers make wide accesses of neighbours and begin them together.
struct ElementBatch {
  std::int64_t together = 1, groups = 1;

  std::int64_t elements() const { return together * groups; }
};

/// How elements are computed together where `elements` are spread over so many threads, parts of whose last axis are multiples of
/// `multiple`. Each thread gets some before one gets many. One at a time where elements have loops of their own.
ElementBatch batch_of(const lowering::LoweredOutput& nest, std::int64_t multiple,
                      std::int64_t elements, std::int64_t group_threads);

/// How lanes take their terms of the long reductions of a nest, where they share them: those that are read side by side in
/// the device's memory, at places that are multiples of how many are read, are read together.
TermsOfLanes terms_of_lanes(const lowering::LoweredOutput& nest,
                            const std::vector<bool>& is_in_block, std::int64_t lanes);

/// How many lines of memory, of 128 bytes each, the lanes of a warp read at once. Index arithmetic that is not linear counts
/// as a constant. `together`: terms that follow each other, which a lane takes before those of the next lane.
std::int64_t lines_of_read(const lowering::LoweredOutput& nest, const lowering::Term& read,
                           const Spread& spread, std::int64_t together = 1);

/// The same of stores of the result.
std::int64_t lines_of_store(const lowering::LoweredOutput& nest, const Spread& spread);

}  // namespace lemma::backend
