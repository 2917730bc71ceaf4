#pragma once
// Panels of weights: elements of so many neighbouring channels of the result side by side, for each term of a sum. The
// stage `layout` stores weights so, and `emit` computes blocks of channels by positions from them: every vector that is
// loaded is a row of a panel, and rows of the result may have any length.

#include <array>
#include <cstdint>

#include "lowering/lower.h"

namespace lemma::backend {

/// Channels of a panel, the best first.
inline constexpr std::array channel_panels = {INT64_C(32), INT64_C(16)};
/// Terms of a sum for which it pays: what is computed for channels side by side is stored at places far apart.
inline constexpr std::int64_t least_panel_terms = 144;
/// A sum of elements of f32, or of groups of integers (backend/pairs.h), that is long enough.
bool is_panel_sum(const lowering::LoweredOutput& nest, lowering::TermNumber id,
                  std::int64_t least_terms = least_panel_terms);

/// The same where a schedule wants panels.
inline constexpr std::int64_t least_wanted_panel_terms = 2;

/// Positions of one channel up to which it pays: beyond, the places of the channels of a block lie in pages of their own.
inline constexpr std::int64_t most_panel_positions = 4096;

}  // namespace lemma::backend
