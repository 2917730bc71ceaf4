#pragma once
// Where a rule may make a union: where its two sides are equal, not only where one refines the other
// (docs/semantics.md, "Relations").
//
// An instance of `L => R` whose left side is defined at every element is an equation. A rule that
// asks for `defined` inputs speaks of such alone. And what may carry an infinity that the model put
// there, or is asked whether it is a number, is changed by rules only that keep every bit.

#include <span>

#include "egraph/egraph.h"
#include "egraph/match.h"

namespace lemma {

/// Whether all elements of a class are, of all outputs of a tuple.
bool is_defined(const EGraph& egraph, ClassId id);

/// What may be missing for an equation.
struct UnionObligations {
  bool inputs_defined = false;   // those that the rule marks
  bool left_defined = false;     // or the rule is an equation anyway
  bool bits_may_change = false;  // no input is tainted and no output is observed, or bitwise
  bool sums_stay = false;  // the right side adds up no more quotients, or its left side is defined
  /// A union may be made.
  bool make_an_equation() const { return make_a_refinement() && left_defined; }
  /// The left side may be replaced by the right one.
  bool make_a_refinement() const { return inputs_defined && bits_may_change && sums_stay; }
};

/// `match`: the classes of the rule's inputs, then of the outputs of its left side. Facts only grow:
/// what holds now holds later, but for what is observed.
UnionObligations obligations_at(const EGraph& egraph, const CompiledRule& rule,
                                std::span<const ClassId> match);

/// Whether no node of the right side may read outside its tensor, so that a run could fail which did
/// not fail before.
bool reads_stay_inside(EGraph& egraph, const BoundRule& bound, std::span<const ClassId> match);

}  // namespace lemma
