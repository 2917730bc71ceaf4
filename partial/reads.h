#pragma once
// Which elements of its operands a part of an operator's output reads, from the operator's definition.

#include <optional>
#include <vector>

#include "partial/region.h"
#include "rule_language/substitution.h"

namespace lemma::partial {

/// How an axis of an operand is read along an axis of the output: element i of the output reads from factor * i + least to
/// factor * i + greatest. Elements outside of the operand count as zeros where the definition says so.
struct Reach {
  Dimension factor, least, greatest;
};

/// An axis of an operand that depends on an axis of the output.
struct ReadAxis {
  std::size_t operand = 0, axis = 0;
  Dimension extent;
  Reach reach;
};

/// All axes of operands that depend on an axis of the output of `term`. Nothing if the term is an input or no rule of
/// shapes fits it, if an operand is read at several places, or if an index is not affine in that axis.
std::optional<std::vector<ReadAxis>> reads_along(const Substitution& rule, TermId term,
                                                 std::size_t output_axis);

}  // namespace lemma::partial
