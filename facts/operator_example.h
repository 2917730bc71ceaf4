#pragma once
// An application of an operator that shows what it does, for people and for facts that are found by trying.

#include <cstddef>
#include <optional>
#include <string>

#include "facts/operator_instances.h"
#include "ir/graph.h"

namespace lemma {

/// A graph with inputs and one application of the operator, found by trying small shapes, types and
/// attribute values until inference accepts; nothing if none of them is accepted.
std::optional<Graph> example_application(OperatorId op);
/// The first of the record's own examples, else the application that is found; nothing if there is none.
std::optional<OperatorInstance> example_instance(const OperatorRecord& op);
/// The name of its input i: "a", "b" and so on.
std::string example_input_name(std::size_t i);

}  // namespace lemma
