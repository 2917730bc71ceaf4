#pragma once
// What a block reads and stores besides its sums lies in rows far apart, which a processor does not foresee. Where sums are
// long, these rows are asked for before the sums, so that they come from beyond the cache in the meantime.

#include <string_view>

#include "backend/emit/emit_block.h"

namespace lemma::backend {

/// Statements before those of emit_block, with the same names in scope; empty where it does not pay. `result`: the
/// pointer to the result, and `place` where an element is stored.
source::Statements emit_prefetch(const lowering::LoweredOutput& nest, const ElementBlock& block,
                                 std::string_view result, const lowering::Linear& place);

}  // namespace lemma::backend
