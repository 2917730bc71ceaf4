#pragma once
// Operators from outside: records that a program or a library of a user's own adds to the table of all operators.
//
// They are added before the table is used for the first time. The table is sorted by name, and files name operators, so
// that nothing depends on the order in which records are added. What a record has to give: docs/outside_operators.md.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/operator.h"

namespace lemma {

/// Adds records; all that they point to has to stay. `origin` says in errors where they are from, such as the path of
/// a library. Errors, with nothing added: a record that lacks something, an arity that is none, a name or an ONNX form
/// that another operator has, records that are registered already, and a table that is in use.
Result<void> register_operators(std::span<const OperatorRecord> records, std::string_view origin);

/// The origin of an operator that was registered; empty for Lemma's own.
std::string_view origin_of(std::string_view name);

/// What is said of a name that no operator has: "there is no operator 'X'", and how one of a library becomes known.
std::string unknown_operator(std::string_view name);

/// What a library of operators has in its file, so that it is known before it is loaded: this text, then the version
/// of Lemma and the layout of records for which it was compiled (ir/operator_library.h).
std::string_view operator_library_mark();

/// Lemma's own records, sorted by name. Made in operators/.
std::span<const OperatorRecord> own_operators();
/// All that was registered; nothing can be from then on. For the table of all operators.
std::vector<OperatorRecord> take_registered_operators();

}  // namespace lemma
