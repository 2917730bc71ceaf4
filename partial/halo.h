#pragma once
// Slices pushed through an operator with windows, such as a convolution: a part of its output is the same operator on a part of
// its input, with a margin as wide as the windows reach (the halo). Which elements these are is read off its definition.

#include <optional>
#include <vector>

#include "partial/region.h"
#include "rule_language/substitution.h"

namespace lemma::partial {

/// A part of one axis of an output.
struct Part {
  std::size_t axis = 0;
  Interval interval;
};

/// Adds the parts of `term`, an operator with the attribute `pads`, computed from parts of its operands. Sizes that have to be
/// at least 0 for that are added to `needed`. Nothing if the term has no pads, or if what it reads cannot be told.
std::optional<TermId> parts_of_windows(Substitution& rule, TermId term,
                                       const std::vector<Part>& parts,
                                       std::vector<Dimension>& needed);

/// A Slice of a term.
TermId sliced(Substitution& rule, TermId term, const std::vector<Part>& parts);
/// A Concat of several terms along an axis; the term itself if it is the only one.
TermId joined(Substitution& rule, const std::vector<TermId>& terms, std::size_t axis);

}  // namespace lemma::partial
