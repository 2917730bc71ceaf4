#pragma once
// What a model gained: in time that was measured, else in predicted cost.

#include <optional>
#include <utility>

#include "batch/optimize_request.h"

namespace lemma {

struct Gain {
  double before = 0, after = 0;  // seconds
  bool is_measured = false;
  /// How many times as fast it is.
  double factor() const { return after > 0 ? before / after : 1; }
};

/// Whether something else was written than what was read.
bool is_changed(const OptimizeAnswer& answer);

/// Seconds of what was read and of what was written, as they were measured. They are equal where the original was
/// kept. Nothing if there is no such time.
std::optional<std::pair<double, double>> measured_seconds(const OptimizeAnswer& answer);

Gain gain_of(const OptimizeAnswer& answer);

}  // namespace lemma
