#pragma once
// What an operator means, as a digest: its definition and constraints, not its documentation.
//
// It is the SHA-256 of what the record says of each instance of a systematic family
// (ir/operator_instances.h): completed attributes, types of the outputs or that they are refused,
// and the definition. For a composition it is the composed graph, and the meanings of its operators.
// Proof records hold these digests: what was proved about another meaning does not count.
//
// Definitions and graphs are read from their outputs on, so that the order in which they were built
// does not matter.

#include <string>

#include "ir/operator.h"
#include "rule_language/substitution.h"

namespace lemma {

/// Computed once in a process, when it is asked for; from any thread.
const std::string& meaning_digest(OperatorId op);
/// Of a record that need not be in the table; computed each time.
std::string meaning_digest(const OperatorRecord& record);

/// The same for a function or predicate of the rule language: its name, the number of its arguments, and its
/// results for a fixed table of arguments. One of attribute_functions().
const std::string& meaning_digest(const AttributeFunction& function);

}  // namespace lemma
