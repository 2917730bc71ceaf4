#pragma once
// The reference of all operators, generated from their records: docs/operators.md.

#include <optional>
#include <string>

#include "ir/graph.h"

namespace lemma {

/// Markdown: an overview, then for each operator its attributes, its ONNX forms and its meaning for
/// an example.
std::string operators_document();
/// The part of it about one operator, from its heading to its last line: certificates contain its
/// digest, so that they are valid only for this definition.
std::string operator_section(OperatorId op);

/// A graph with inputs and one application of the operator, found by trying small shapes, types and
/// attribute values until inference accepts; nothing if none of them is accepted.
std::optional<Graph> example_application(OperatorId op);

}  // namespace lemma
