#pragma once
// What tells NaN from numbers (docs/semantics.md, "What observes undefined elements"), derived from
// the definitions of operators.

#include <optional>
#include <string>

#include "facts/partial.h"
#include "ir/definition.h"
#include "ir/graph.h"
#include "ir/operator.h"

namespace lemma {

/// Whether an element of an output may be a number, or true or false, although an element that is read
/// for it is NaN: comparisons, selections by them, IsNaN, conversions to types without NaN that test for
/// it. What is converted to an integer is as undefined as it was. True is the safe side.
bool observes_undefined(const Definition& definition);

/// The same of one application: of its definition, or of any operator that it is composed of.
bool observes_undefined(const OperatorRecord& record, const Instance& instance);

/// An operand of real numbers that an operation of the graph observes and that is not known to have no
/// undefined element.
struct ObservedOperand {
  NodeId node;
  ValueId operand;
};
/// The first one among the first `node_count` nodes. A rule with such an operand is not true of NaN unless it keeps every bit, though it may
/// be true of numbers and undefined elements.
std::optional<ObservedOperand> observed_operand(const Graph& graph, AlwaysDefined& defined,
                                                std::size_t node_count);
/// "Less observes operands that may be undefined: ...", for people.
std::string objection_to(const Graph& graph, const ObservedOperand& observed);

}  // namespace lemma
