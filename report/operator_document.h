#pragma once
// The reference of all operators, generated from their records: docs/operators.md.

#include <functional>
#include <string>

#include "ir/operator.h"

namespace lemma {

/// Markdown: an overview, then for each operator its attributes, its ONNX forms and its meaning for
/// an example.
/// `meaning_digest` gives the digest of what an operator means (rule_language/operator_meaning.h), which its part ends
/// with.
std::string operators_document(const std::function<std::string(OperatorId)>& meaning_digest);

}  // namespace lemma
