#pragma once
// Why the chosen graph equals the original: the uses of rules that it takes, as a text that
// lemma-check replays (docs/certificates.md, "Explanations").

#include <string>

#include "search/derivation.h"

namespace lemma {

/// `chosen` is the graph before constants are folded. Opaque operators are taken to be functions of
/// which nothing is known: their inputs have to be equal. An error if the uses do not lead from one
/// graph to the other.
Result<std::string> explain(const Graph& original, const Graph& chosen, Derivation& derivation);

}  // namespace lemma
