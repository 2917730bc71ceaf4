#pragma once
// A digest of the meaning of an operator: its definition and constraints, not its documentation.
//
// It is a SHA-256 over a systematic family of instances (facts/operator_instances.h): for each of them
// the completed attributes, the types of the outputs or the fact that the instance is rejected, and
// the definition. For a composition it covers the composed graph and the meanings of its operators.
// Proof records contain these digests, so that a proof is valid only for the same meaning.
//
// An operator that is made on demand (ir/derived_operator.h) has the digest of what it is made of, with the way in which it
// is made and its version, and of its examples.
//
// An operator without an accepted instance, or composed of one, has no digest: nobody would see that its meaning
// changes. No proof about it is recorded or accepted. Its record needs examples (OperatorRecord::examples).
//
// Definitions and graphs are read from their outputs on, so that the order in which they were built
// does not matter.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/operator.h"
#include "rule_language/substitution.h"

namespace lemma {

/// Computed once in a process, when it is asked for; from any thread. Empty: nothing of its meaning is covered.
const std::string& meaning_digest(OperatorId op);
/// Gives the digests of Lemma's own operators in the order of their names, as the build computed them from the operators that
/// the program is linked with. Before the first question. False if it is another number of operators: they are not taken
/// then. Those of operators from outside are computed when they are asked for.
bool take_meaning_digests(std::span<const std::string_view> digests);
/// The digest of the meaning of a record that need not be in the table; computed each time.
std::string meaning_digest(const OperatorRecord& record);

/// An operator of the rule whose meaning no digest covers: why no proof of it is accepted. Nothing if there is none.
std::optional<std::string> uncovered_meaning(const Substitution& rule);

/// The same for a function or predicate of the rule language: its name, the number of its arguments, and its
/// results for a fixed table of arguments. One of attribute_functions().
const std::string& meaning_digest(const AttributeFunction& function);

}  // namespace lemma
