#pragma once
// Whether both sides of a claim give the same bits, infinities, NaN and zeros of either sign included: each element is
// the same expression over the same elements, each operation of it with its rounding (composition.h, "What a run
// computes"). Operators with reductions are functions of all their operands: kernels add up in an order that the sizes
// of the operands decide on, so they are the same only where both sides apply the same operator, with the same
// attributes, to operands of the same types that are the same bit by bit.

#include <optional>
#include <string>

#include "ir/graph.h"
#include "verifier/index/known.h"

namespace lemma::verifier::index {

/// Nothing if the sides, which may have composite operators, give the same bits wherever the facts hold; else why that
/// is not seen. The sides are equal over the real numbers. Throws Unsupported.
std::optional<std::string> objection_to_bits(const Graph& left, const Graph& right,
                                             const Known& known);

}  // namespace lemma::verifier::index
