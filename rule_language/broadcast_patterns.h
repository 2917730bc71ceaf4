#pragma once
// The ways in which the groups of a rule's left side may be broadcast against each other.

#include <cstddef>
#include <map>
#include <string>

#include "base/result.h"
#include "ir/dimension.h"
#include "rule_language/substitution.h"

namespace lemma {

/// A number for each group; groups with equal numbers are aligned with each other.
using AlignedClasses = std::map<std::string, std::size_t>;

/// Which groups are aligned with each other: a number for each, that of the first one in order of
/// declaration. An error where alignment of groups that begin at the same axis, counted from the
/// end, is not all that relates them.
Result<AlignedClasses> alignment(const Substitution& rule,
                                 const std::map<std::string, std::size_t>& ranks);

/// The number of ways in which aligned axes may have the common size or 1; at least one has the
/// common size.
std::size_t count_patterns(const AlignedClasses& classes,
                           const std::map<std::string, std::size_t>& ranks);

/// The way with the given number: the shape of each group.
std::map<std::string, Shape, std::less<>> broadcast_pattern(
    const AlignedClasses& classes, const std::map<std::string, std::size_t>& ranks,
    std::size_t number);

}  // namespace lemma
