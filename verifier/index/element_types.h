#pragma once
// Proofs read the elements of all real types as real numbers. That a proof for one of them holds for the others is so
// where the definitions are the same for all.

#include <string>

#include "ir/graph.h"

namespace lemma::verifier::index {

/// What a graph without composite operators computes, real types left out: two graphs that differ in these only have
/// one text. Throws Unsupported (expression.h) where an operator has no definition.
std::string form_for_all_types(const Graph& graph);

}  // namespace lemma::verifier::index
