#pragma once
// A lower bound that costs next to nothing.

#include "egraph/exact/problem.h"

namespace lemma::exact {

/// No selection costs less. With costs of 0 or more: what a class costs is split evenly among all
/// classes that could use it. In a selection the users are at most those, so each pays at least its
/// share, and the shares add up, from user to user, at the roots. With negative costs: the sum of
/// them, by class.
Cost quick_lower_bound(const Problem& problem);

}  // namespace lemma::exact
