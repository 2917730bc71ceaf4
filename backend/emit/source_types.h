#pragma once
// The types of elements and indices in generated source. Operations are defined in
// lowering/scalar_operations.h, which the source includes; this file only has their names.

#include <string>

#include "backend/emit/statements.h"
#include "lowering/terms.h"

namespace lemma::backend {

/// The type in memory ("std::int8_t"). Errors are `unsupported`: types that are not emitted yet.
Result<std::string> stored_type(DataType type, lowering::Domain domain = lowering::Domain::native);
/// The type that an element has while it is computed with.
Result<std::string> computed_type(lowering::LaneKind lanes);

/// A constant, from the bits of a lane.
Result<std::string> constant_text(std::uint64_t bits, lowering::LaneKind lanes);

/// The name of a loop variable, and of the value of a term.
std::string variable_name(lowering::LoopVariable variable);
std::string term_name(lowering::TermNumber term);
std::string input_name(std::uint32_t input);

/// Index arithmetic as an expression; it wraps where it may leave 64 bits.
std::string linear_text(const lowering::TermGraph& graph, const lowering::Linear& form);

/// An operation of two elements, given as text. Elements of u64 are held as signed.
Result<source::Expression> binary_text(ExpressionKind kind, lowering::LaneKind lanes,
                                       bool unsigned64, const std::string& a, const std::string& b);
Result<std::string> function_text(ScalarFunction function, lowering::LaneKind lanes,
                                  bool unsigned64, const std::string& a);
/// Whether an operation of such elements is a few instructions: no call, and no divisor to check.
bool is_plain_operation(ExpressionKind kind, ScalarFunction function, lowering::LaneKind lanes);
Result<std::string> cast_text(DataType from, DataType to, lowering::Domain domain,
                              const std::string& a);

}  // namespace lemma::backend
