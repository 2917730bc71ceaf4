#pragma once
// Concat of many operands and Split into many results as several of few, which gradients are spelled of.

#include "ir/graph.h"

namespace lemma::training {

/// rules/gradients/ spells the gradients of Concat with at most so many operands, and of Split with at most so many results.
inline constexpr std::size_t most_joined = 8;

/// The same graph in which no Concat and no Split has more than that: a Concat joins what others have joined, a Split cuts what
/// others have cut. Only elements are moved, so that results are the same bits.
Result<Graph> with_narrow_joins(const Graph& graph);

}  // namespace lemma::training
