#pragma once
// Whether a selection is what it claims to be. Shares nothing with the code that finds selections.

#include "egraph/exact/problem.h"

namespace lemma::exact {

/// Every root has a node, each node is of its class, whatever a chosen node needs has a node,
/// nothing needs itself, nothing is chosen that no root needs, and the cost is what is stated.
Result<void> validate(const Problem& problem, const Selection& selection);

}  // namespace lemma::exact
