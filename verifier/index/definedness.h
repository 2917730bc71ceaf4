#pragma once
// Definedness (docs/semantics.md, "What is read"): the right side of an axiom may read an element
// only where the left side reads it, apply a partial function only where the left side does or
// where it is always defined, and be the maximum of a set only if that is not empty.

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "verifier/index/composition.h"
#include "verifier/index/known.h"

namespace lemma::verifier::index {

/// Adds that a size of which the given side takes the inverse is not 0.
void note_sizes(Known& known, const ComposedOutput& given);

/// Nothing, or what the right side needs and the left side does not. Inputs of which it reads more than
/// the left side are entered into `reads_more`: the right side is defined where these are.
std::optional<std::string> check_definedness(Known known, const ComposedOutput& left,
                                             const ComposedOutput& right,
                                             std::set<std::uint32_t>& reads_more);

}  // namespace lemma::verifier::index
