#pragma once
// The two shapes of nests that libraries know.

#include "backend_cuda/libraries/library_problem.h"
#include "backend_cuda/libraries/nest_view.h"

namespace lemma::backend {

/// A sum of products of two reads whose axes are those of matrices. Errors say what does not fit.
struct ProductMatch {
  MatrixProduct problem;
  bool is_swapped = false;  // the second factor is the left one
};
Result<ProductMatch> match_product(const NestView& view);

/// Windows that slide over the axes behind the first two of the input: convolutions with a weight, pools without.
struct WindowMatch {
  LibraryProblem problem;
  bool is_swapped = false;  // the second factor is what the windows slide over
};
Result<WindowMatch> match_windows(const NestView& view);

}  // namespace lemma::backend
