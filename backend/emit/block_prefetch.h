#pragma once
// What a block reads and stores besides its sums lies in rows far apart, which a processor does not foresee. Where sums are
// long, these rows are asked for before the sums, so that they come from beyond the cache in the meantime. The terms of sums
// are asked for some terms ahead, so that they come from the second cache while others are added up.

#include <string_view>
#include <vector>

#include "backend/emit/emit_block.h"
#include "backend/emit/vector_reduction.h"

namespace lemma::backend {

/// Statements before those of emit_block, with the same names in scope; empty where it does not pay. `result`: the
/// pointer to the result, and `place` where an element is stored.
source::Statements emit_prefetch(const lowering::LoweredOutput& nest, const ElementBlock& block,
                                 std::string_view result, const lowering::Linear& place);

/// Asks for elements of an operand of a sum, ahead of the term that the loops have come to.
struct TermPrefetch {
  std::size_t depth = 0;  // how many of the loops are open where it stands
  source::Call call;
};

/// Those of a sum over `loops`, the outermost first, in the innermost of which the step is written; none where sums are short.
std::vector<TermPrefetch> prefetch_terms(const lowering::LoweredOutput& nest,
                                         const ElementBlock& block,
                                         const VectorReduction& reduction,
                                         const std::vector<lowering::LoopVariable>& loops);

}  // namespace lemma::backend
