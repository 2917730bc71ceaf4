#pragma once
// Names that options had before each name meant one thing (docs/options.md). They are still understood, and help does not
// show them.

#include <string>
#include <vector>

namespace lemma {

/// The words of a call with the names of today.
std::vector<std::string> with_present_names(std::vector<std::string> words);

}  // namespace lemma
