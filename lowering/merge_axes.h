#pragma once
// Neighbouring axes of an output as one, where nothing tells them apart: loops get longer, and fewer.

#include "lowering/lower.h"

namespace lemma::lowering {

/// The same elements in the same row-major order. Two axes become one if reads are all that uses them, each of which has
/// them as the indices of two neighbouring axes, of which the second is as long as the loop.
Result<LoweredOutput> merge_axes(const LoweredOutput& output);

/// The same, but only where the axes up to the first of two do not have a number of elements together that is among
/// `kept`, so that loops may be cut there.
Result<LoweredOutput> merge_axes(const LoweredOutput& output,
                                 const std::vector<std::int64_t>& kept);

/// The same elements, with as few variables of reductions as there can be: two that follow each other become one as axes do.
Result<LoweredOutput> merge_bound(const LoweredOutput& output);

/// `lower` with axes split where a definition divides them, as channels of groups, and then as few axes as there can be.
Result<LoweredOutput> lower_to_long_loops(const Definition& definition, const DefinedOutput& output,
                                          const std::vector<InputView>& inputs, Domain domain);

}  // namespace lemma::lowering
