#pragma once
// Solving the indices of a read for its variables.

#include <optional>
#include <span>
#include <vector>

#include "differentiate/adjoint.h"

namespace lemma::differentiate {

/// sum(variables where L(variables) == j: adjoint), for the index j of the gradient.
///
/// Equations that name one open variable give its value; of several, one that is an axis of the output and has the
/// coefficient 1 is solved for, and the others stay variables of the sum. Row-major positions, and indices that are taken
/// from such by quotients and remainders, are taken apart. All other equations stay as conditions.
Expression sum_at(Workplace& from, const ReadAdjoint& read, Workplace& to,
                  std::span<const Expression> at, const Shape& shape);

}  // namespace lemma::differentiate
