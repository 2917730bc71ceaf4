#pragma once
// The two shapes of nests that libraries know.

#include "backend_cuda/libraries/library_problem.h"
#include "backend_cuda/libraries/nest_view.h"

namespace lemma::backend {

/// A sum of products of two reads whose axes are those of matrices. Errors say what does not fit.
Result<MatrixProduct> match_product(const NestView& view);

/// Windows that slide over the axes behind the first two of the input: convolutions with a weight, pools without.
Result<LibraryProblem> match_windows(const NestView& view);

}  // namespace lemma::backend
