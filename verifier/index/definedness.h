#pragma once
// Functions that are not defined everywhere: the right side of an axiom may apply them only where
// the left side does, or where they are surely defined.

#include <optional>
#include <string>

#include "verifier/index/composition.h"
#include "verifier/index/known.h"

namespace lemma::verifier::index {

/// Adds that a size of which the given side takes the inverse is not 0.
void note_sizes(Known& known, const ComposedOutput& given);

/// Nothing, or what the right side needs and the left side does not.
std::optional<std::string> check_definedness(Known known, const ComposedOutput& left,
                                             const ComposedOutput& right);

}  // namespace lemma::verifier::index
