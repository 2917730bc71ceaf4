#pragma once
// Names of found rules, which say what they do: "concat_of_convs_sharing_left_as_conv_of_right_concat". A name is made
// of the rule's text alone; only rules that would have the same one get the kind of their shapes or a digest of their
// text as well.

#include <string>

#include "database/build.h"

namespace lemma::database {

/// The operators of the left side, "_to_" or for an equation "_as_", and those of the right side, each "of" what it is
/// applied to: as deep as there is room for. Operands that are inputs are left out; "sharing" says which one is the
/// same below several operators. At most `longest_name` letters.
std::string descriptive_name(const Substitution& rule);
inline constexpr std::size_t longest_name = 49;

/// Gives all rules that are written their names, wherever they are named: while rules are looked for, their names are
/// digests (normal_form.h), since a name depends on what else is found.
/// `known`: names of others, which stay theirs.
void give_names(Build& build, const std::vector<std::string>& known);

}  // namespace lemma::database
