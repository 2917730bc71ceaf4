#pragma once
// What a rule is about, for the files that people browse: matmul_found.rules, pooling_found.rules, ...

#include <span>
#include <string_view>

#include "rule_language/substitution.h"

namespace lemma::database {

/// The theme of a rule, by the operators of both sides: what computes most decides. The names are those of the
/// files that people write, where there are such.
std::string_view theme_of(const Substitution& rule);
/// All that there are.
std::span<const std::string_view> all_themes();

}  // namespace lemma::database
