#pragma once
// Sums of products as matrix products.
//
//   sum(k: f * g), where some output axes occur in f only (rows) and some in g only (columns)
//
// Axes that occur in both are batches. f and g are any expressions: they are evaluated into packed
// blocks by the strip evaluator, guards and all, which for a convolution amounts to im2col. A guard
// around the product is moved to the factor with its variables.

#include <optional>
#include <span>
#include <vector>

#include "interpreter/evaluate.h"
#include "lowering/terms.h"

namespace lemma::interpreter {

struct Contraction {
  TermNumber sum = 0;
  TermNumber left = 0, right = 0;
  std::vector<LoopVariable> batch, rows, columns, inner;
  /// A guard was moved to the other factor: this one must be finite, since 0 * infinity is not 0.
  bool left_must_be_finite = false, right_must_be_finite = false;
};

/// A sum in `root` that is worth it and not behind a guard. Adds terms for the factors. `axes` are
/// the variables of the output, in order. `in_order`: see EvaluationOptions.
std::optional<Contraction> find_contraction(TermGraph& graph, TermNumber root,
                                            const std::vector<LoopVariable>& axes,
                                            bool in_order = false);

/// The sum for all its variables, as lanes in row-major order of `axes` (those of the output that
/// the sum depends on, in order). False where plain evaluation must decide: an element of a factor
/// is undefined, or not finite where it must be.
Result<bool> evaluate_contraction(const TermGraph& graph, const Contraction& contraction,
                                  const std::vector<LoopVariable>& axes,
                                  std::span<const std::byte* const> inputs, std::byte* out,
                                  const EvaluationOptions& options);

}  // namespace lemma::interpreter
