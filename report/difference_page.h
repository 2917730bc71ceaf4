#pragma once
// Pictures of what differs between two graphs.

#include <string>
#include <string_view>

#include "ir/graph.h"
#include "report/graph_difference.h"

namespace lemma {

/// What the two sides are called: "before" and "after", or names of files.
struct SideNames {
  std::string before, after;
};

/// The graphs side by side, with what only one of them has in color. Nothing for graphs that are too large to be
/// looked at as a whole.
std::string whole_graphs(const Graph& before, const Graph& after, const GraphDifference& difference,
                         const SideNames& names);

/// Both sides of each place as pictures. Places that look alike are shown once, with their number.
std::string changed_places(const Graph& before, const Graph& after,
                           const GraphDifference& difference, const SideNames& names);

}  // namespace lemma
