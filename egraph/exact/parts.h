#pragma once
// Independent parts of a problem: no node of one needs a class of another.

#include <vector>

#include "egraph/exact/problem.h"

namespace lemma::exact {

struct Part {
  Problem problem;
  std::vector<std::uint32_t> classes, nodes;  // their numbers in the whole
};

/// The independent parts in order of the least class. Every class must be in reach of the roots.
std::vector<Part> independent_parts(const Problem& problem);

/// The part of the selection that concerns the part, and back.
Selection restrict_to(const Part& part, const Selection& whole);
void insert(const Part& part, const Selection& selection, Selection& whole);

}  // namespace lemma::exact
