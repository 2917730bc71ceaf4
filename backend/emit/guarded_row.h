#pragma once
// Elements that are read behind a guard, as those of a tensor with padding: along a row, the guard holds from one element to
// another, and what lies between needs none. Compilers make vectors of that.

#include <optional>
#include <vector>

#include "lowering/lower.h"

namespace lemma::backend {

/// form < 0, or form <= 0.
struct RowBound {
  lowering::Linear form;  // of the axes of the nest; the last one has a coefficient of -1, 0 or 1
  bool is_strict = false;
};

/// A row of elements with bounds. Where all of these hold, the element is `value`, and what it
/// reads lies inside its tensors; elsewhere it is `otherwise`, or undefined.
struct GuardedRow {
  lowering::TermNumber value = 0, otherwise = 0;
  std::vector<RowBound> bounds;
};

/// Nothing unless the element is selected by comparisons of linear forms, and `value` has no loops and no guards.
std::optional<GuardedRow> find_guarded_row(const lowering::LoweredOutput& nest);

}  // namespace lemma::backend
