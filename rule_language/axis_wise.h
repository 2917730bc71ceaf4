#pragma once
// Rules that treat each axis independently.

#include "rule_language/substitution.h"

namespace lemma {

/// Whether the claim for tensors of any ranks follows from the claim for scalars:
///
/// - every input has the shape [G..] of one group, and there are no conditions;
/// - every operator is elementwise: at each number of axes that the groups can have, its definition
///   reads each operand at the index of the output, or at 0 along an axis where the operand has size
///   1, and uses indices for nothing else; operands broadcast in both directions; what it computes of
///   the elements does not depend on the number of axes;
/// - attributes do not depend on groups;
/// - paired outputs depend on the same groups.
///
/// Then an element of either side is one and the same function of one element of each input, its
/// broadcast element, as the corresponding scalar program is of its inputs. Both sides of an output
/// have the size of the broadcast of the same groups, and the right side is well typed where the left
/// one is, since sizes that broadcast with each other are equal or 1 along each axis.
bool treats_axes_alike(const Substitution& rule);

/// The greatest number of axes that a group of a rule may have.
inline constexpr std::size_t most_axes_of_group = 8;

/// Whether the cases of a certificate are those of scalars: the rule has two groups or more, each of 0 to 8 axes, and
/// treats axes alike, where inputs may also be scalars, and terms scalars without operands. There would be too many ways to
/// broadcast such groups to prove one by one.
bool is_proved_for_scalars(const Substitution& rule);

}  // namespace lemma
