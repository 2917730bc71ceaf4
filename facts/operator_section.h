#pragma once
// The part of docs/operators.md about one operator. It is what people read of an operator's meaning, and certificates
// contain its digest, so that a second checker can tell that both speak of the same definition.

#include <string>
#include <string_view>

#include "ir/operator.h"

namespace lemma {

/// The section of an operator, from the heading to the last line. `meaning_digest`: of what the
/// operator means (rule_language/operator_meaning.h), which the part ends with.
std::string operator_section(OperatorId op, std::string_view meaning_digest);

/// "`Add` from operator set 7", for tables and sentences.
std::string onnx_form_text(const OnnxMapping& mapping);
/// A text as it stands in a cell of a table of Markdown.
std::string table_cell(std::string_view text);

}  // namespace lemma
