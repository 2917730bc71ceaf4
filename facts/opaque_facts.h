#pragma once
// What is known of the outputs of opaque nodes (docs/semantics.md, "What is assumed about a model").

#include <optional>
#include <string_view>

#include "facts/value_facts.h"

namespace lemma {

/// Whether it is one of If, Loop and other operators of ONNX that run bodies: these compute with
/// operators that have records, so that what they give may be undefined. Other opaque operators are
/// taken to give defined elements. Integers have no NaN.
bool runs_bodies(std::string_view op);

/// An output of an opaque operator of this name. It may hand an infinity on that it is given.
ValueFacts facts_of_opaque_output(std::string_view op, DataType type, bool operands_are_finite);

/// An input of a graph that stands for such an output: "opaque If 0123456789abcdef#0" (facts/cut.h), also with
/// "input " before it; nothing for other names.
std::optional<ValueFacts> facts_of_cut_output(std::string_view name, DataType type);

}  // namespace lemma
