#pragma once
// Where the lanes of a warp share the terms of a reduction, rather than each having whole elements.

#include "lowering/lower.h"

namespace lemma::backend {

inline constexpr std::uint32_t cuda_warp_size = 32;  // "warp_size" in the source

/// Whether the reduction is one whose terms lanes can share: its last loop gives each lane some.
bool is_long_reduction(const lowering::LoweredOutput& nest, const lowering::Term& term);

/// Whether lanes share terms: there are fewer elements than threads, or threads side by side would read elements that are
/// far from each other. `elements`: that the smallest part of the nest has.
bool shares_terms(const lowering::LoweredOutput& nest, std::int64_t elements,
                  std::int64_t group_threads);

}  // namespace lemma::backend
