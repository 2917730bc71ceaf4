#pragma once
// What every selection without cycles has in common, by class.

#include <optional>

#include "egraph/exact/bit_matrix.h"
#include "egraph/exact/outcome.h"

namespace lemma::exact {

/// Row c: the classes that are chosen whenever class c is, among them c.
///
/// The greatest solution of  needed(c) = {c} + intersection over nodes of union over children. A
/// greatest solution is right because selections are well-founded: by induction on the depth below
/// c, all that it names is below c. Classes that cannot be chosen need everything. Nothing if the limit is reached before
/// the solution.
std::optional<BitMatrix> needed_classes(const Problem& problem,
                                        const std::vector<std::vector<std::uint32_t>>& nodes_of,
                                        const std::vector<std::uint32_t>& order,
                                        const Limit& limit = {});

/// For each class the class that dominates it at once: every path from a root to it goes through
/// that. none for roots, for classes with no dominator but themselves, and for those out of reach.
/// The dominators of Cooper, Harvey and Kennedy (2001). `order` is a postorder of what the roots
/// reach.
std::vector<std::uint32_t> immediate_dominators(
    const Problem& problem, const std::vector<std::vector<std::uint32_t>>& nodes_of,
    const std::vector<std::uint32_t>& order);

/// For each class the number of its strongly connected component, users after what they use.
std::vector<std::uint32_t> components(const Problem& problem,
                                      const std::vector<std::vector<std::uint32_t>>& nodes_of);

}  // namespace lemma::exact
