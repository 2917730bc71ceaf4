#pragma once
// Coverage of demands (docs/semantics.md, "What is read"): each element that one side reads is read by
// the other, for all sizes.

#include <set>

#include "verifier/index/composition.h"
#include "verifier/index/known.h"

namespace lemma::verifier::index {

/// Values for variables that are bound, under which something given says what is wanted.
using Witness = DimensionBindings;

/// The inputs of which `wanted` reads elements that `given` is not seen to read.
std::set<std::uint32_t> uncovered_inputs(const Known& known, const std::vector<ReadElement>& given,
                                         const std::vector<ReadElement>& wanted);

/// Adds that the minima and maxima of the given side are over something.
void note_inhabited(Known& known, const std::vector<InhabitedDomain>& given);
/// Whether each of `wanted` is over something, where those of `given` are.
bool are_inhabited(const Known& known, const std::vector<InhabitedDomain>& given,
                   const std::vector<InhabitedDomain>& wanted);

/// Choices of values for the variables in `open`, each among `values`, at most `limit` of them.
std::vector<Witness> choices(const std::vector<Bound>& open, const std::vector<Dimension>& values,
                             std::size_t limit);

}  // namespace lemma::verifier::index
