#pragma once
// How the loops of a computation are written, where the constants and estimates of the passes and emitters do not decide it:
// what `lemma tune` searches (docs/tune.md). Every schedule computes the same elements; only that of `tiles` rounds otherwise.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lemma::backend {

/// The order of the loops over blocks. What the inner loops go through is read again for each block of the outer ones,
/// and should come from a cache.
enum class LoopOrder : std::uint8_t {
  rows_outside,  // as the axes are
  rows_inside,   // the loop over rows inside of all others
  chunks,  // chunks along the lanes outside of the loop over rows, which is outside of the blocks of a chunk
};

/// A field without a value is decided as without a schedule.
struct LoopSchedule {
  // Tensors in memory (layout/layout.h). True: wherever it can be done; false: nowhere.
  std::optional<bool> tiles;     // windows of 3x3 by Winograd's algorithm
  std::optional<bool> channels;  // channels side by side, from panels of weights
  std::optional<bool> widens;    // results along rows as long as those that windows go over
  std::optional<bool>
      windows;  // what windows with steps read is stored in the order in which it is read
  std::optional<bool>
      stored;  // the result is stored, rather than computed where it is read; only true
  std::optional<std::int64_t> panel;  // results side by side in a panel of weights
  // Blocks of elements (emit/emit_block.h).
  std::optional<std::int64_t> vectors;  // registers side by side
  std::optional<std::int64_t> rows;
  std::optional<LoopOrder> order;
  std::optional<std::int64_t> chunk;  // elements along the lanes, of LoopOrder::chunks
  std::optional<std::int64_t>
      ahead;  // terms of a sum that elements are asked for ahead; 0: none are
  std::optional<std::int64_t> unroll;  // terms of a sum in a turn of its innermost loop

  friend bool operator==(const LoopSchedule&, const LoopSchedule&) = default;
  bool is_default() const { return *this == LoopSchedule{}; }
};

/// "channels=no vectors=2 rows=6 order=rows-inside": the fields with a value, always in the same order; empty for none.
std::string text(const LoopSchedule& schedule);
/// The inverse. An error names the word that is no field or has no such value.
Result<LoopSchedule> parse_loop_schedule(std::string_view text);

/// The fields of `first`, and those of `second` where it has none.
LoopSchedule merged(LoopSchedule first, const LoopSchedule& second);

/// Schedules by the key of a computation (lower/computation_key.h).
using LoopSchedules = std::map<std::string, LoopSchedule, std::less<>>;

}  // namespace lemma::backend
