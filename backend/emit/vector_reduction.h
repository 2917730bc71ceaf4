#pragma once
// Reductions whose results stay in vectors until they have all their terms.

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/emit/emit_block.h"

namespace lemma::backend {

/// A reduction over elements that are others for each lane, in sums each perhaps times one that is the same for all.
struct VectorReduction {
  lowering::TermNumber across = 0;
  std::optional<lowering::TermNumber> down;
  std::int64_t step = 1;  // in memory, from lane to lane
  /// Elements of a group of integers (backend/pairs.h), of which the step is one then; else 1.
  std::int64_t together = 1;
  std::vector<lowering::TermNumber> guards =
      {};  // comparisons of loop variables: products are added where all hold

  bool has_groups() const { return together != 1; }
};

/// Nothing if the terms are computed in another way than by reads inside of their tensors.
std::optional<VectorReduction> find_vector_reduction(const lowering::LoweredOutput& nest,
                                                     const ElementBlock& block,
                                                     lowering::TermNumber id);

}  // namespace lemma::backend
