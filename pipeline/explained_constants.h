#pragma once
// Explanations for files: with the bytes of the constants whose facts they need, so that a checker
// believes nothing (docs/certificates.md, "Explanations").

#include <string>

#include "check/replayed_rules.h"
#include "ir/graph.h"

namespace lemma {

/// `explanation` has a line `given` for each large constant of `original`, and holds with them. Lines that
/// it also holds without are left out, and in place of the others stand the bytes, as far as all of them are
/// no more than 4 MiB; facts of still larger constants stay as they are.
std::string with_constants(const std::string& explanation, const Graph& original,
                           const ReplayedRules& rules);

}  // namespace lemma
