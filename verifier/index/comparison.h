#pragma once
// Both sides of a claim composed and compared.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verifier/index/composition.h"
#include "verifier/index/known.h"

namespace lemma::verifier::index {

using ComposedSides = std::pair<std::vector<ComposedOutput>, std::vector<ComposedOutput>>;
using ComposeSides = std::function<ComposedSides(const IndexSplits&)>;

/// Indices of the outputs are split where quotients of them ask for it.
ComposedSides compose_split(const ComposeSides& compose_sides);

/// Whether sizes are the same wherever the facts hold.
bool are_equal_sizes(const Known& known, const Dimension& a, const Dimension& b);

/// Why the values are not seen to be equal wherever the facts hold; nothing if they are.
std::optional<std::string> objection_to_values(const Known& known, const Pieces& left,
                                               const Pieces& right);

}  // namespace lemma::verifier::index
