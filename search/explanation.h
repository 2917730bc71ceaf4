#pragma once
// Why the chosen graph refines the original: the uses of rules that it takes, as a text that
// lemma-check replays (docs/certificates.md, "Explanations").

#include <span>
#include <string>

#include "search/derivation.h"

namespace lemma {

/// `chosen` is the graph before constants are folded; `stages` are graphs on the way to it, between
/// which a rule replaced what it only refines. Opaque operators are taken to be functions of
/// which nothing is known: their inputs have to be equal. An error if the uses do not lead from one
/// graph to the other.
Result<std::string> explain(const Graph& original, std::span<const Graph> stages,
                            const Graph& chosen, Derivation& derivation);

}  // namespace lemma
