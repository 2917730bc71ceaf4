#pragma once
// Sizes at which a model with open sizes is likely to be used: costs and times are taken at these. docs/sizes.md has the
// table.

#include <cstdint>
#include <map>
#include <string>

#include "ir/graph.h"

namespace lemma {

using SizesOfSymbols = std::map<std::string, std::int64_t, std::less<>>;

/// Two lists of sizes, for every symbol in the types of the graph's inputs.
struct UsualSizes {
  SizesOfSymbols typical;
  /// Others that are usual too: images and sounds are larger, sequences shorter, and a batch has 4 elements where nothing
  /// else is open.
  SizesOfSymbols other;
};

/// The usual sizes by the symbols' names; by the rank and the type of the input and by the axis where a name says
/// nothing, or where the file has none.
UsualSizes usual_sizes(const Graph& graph);

/// About half of each size above 32, as a multiple of 32 where there is one; smaller sizes stay. A run on them takes less time.
SizesOfSymbols smaller_sizes(SizesOfSymbols sizes);

}  // namespace lemma
