#pragma once
// Sums of products of small integers that lie side by side in groups of 32 bits, as `layout` stores factors and processors
// multiply them: sum(..., j < n: a[..., j] * b[..., j]). A group is a pair of i16, or four bytes, of u8 in one factor and of
// i8 in the other one.

#include <optional>

#include "lowering/lower.h"

namespace lemma::backend {

struct PairSum {
  lowering::TermNumber factors[2] = {};  // reads
  lowering::LoopVariable element = 0;    // of a group; the last variable of the sum
  std::int64_t elements = 2;             // of a group
};

/// Nothing for other terms.
std::optional<PairSum> find_pair_sum(const lowering::LoweredOutput& nest, lowering::TermNumber id);

/// Whether the nest has such a sum that the term is a factor of.
bool is_read_in_pairs(const lowering::LoweredOutput& nest, lowering::TermNumber read);

/// Whether any term of the nest is such a sum.
bool has_pair_sum(const lowering::LoweredOutput& nest);

/// The step between neighbours along a loop, in groups; 0 where it is no whole number of them.
std::int64_t step_in_pairs(const lowering::LoweredOutput& nest, lowering::TermNumber read,
                           lowering::LoopVariable variable);

}  // namespace lemma::backend
