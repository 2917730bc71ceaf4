#pragma once
// The reference of all operators, generated from their records: docs/operators.md.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace lemma {

/// Markdown: an overview, then for each operator its attributes, its ONNX forms and its meaning for
/// an example.
/// `meaning_digest` gives the digest of what an operator means (rule_language/operator_meaning.h), which its part ends
/// with.
std::string operators_document(const std::function<std::string(OperatorId)>& meaning_digest);
/// The part of it about one operator, from its heading to its last line: certificates contain its
/// digest, so that they are valid only for this definition.
std::string operator_section(OperatorId op, std::string_view meaning_digest);

/// A graph with inputs and one application of the operator, found by trying small shapes, types and
/// attribute values until inference accepts; nothing if none of them is accepted.
std::optional<Graph> example_application(OperatorId op);

}  // namespace lemma
