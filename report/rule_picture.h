#pragma once
// Both sides of a rule as pictures within a page.

#include <string>
#include <string_view>

#include "rule_language/substitution.h"

namespace lemma {

/// HTML with both sides at a typical application (example_case()), under these headings; empty: none is known.
std::string rule_pictures(const Substitution& rule, std::string_view left, std::string_view right);

}  // namespace lemma
