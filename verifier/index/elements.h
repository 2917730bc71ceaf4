#pragma once
// Elements of tensors where sizes and indices stand: conditions on elements as parts of formulas,
// and elements as indices.
//
// A condition on elements is an opaque proposition for queries about sizes. Queries about real
// numbers (equality.cpp) know what it says. An index that depends on elements is a symbol whose
// name is the text of its value, "@{x1[_i0]}". Symbols are natural numbers: that is right for such
// an index wherever the element at it is read, because only elements inside a tensor are defined.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/data_type.h"
#include "verifier/index/expression.h"
#include "verifier/index/formula.h"

namespace lemma::verifier::index {

/// A value that depends on conditions: the guards exclude each other, and one of them holds.
struct Piece {
  Formula guard;
  Polynomial value;
};
using Pieces = std::vector<Piece>;

// ---- Conditions on elements --------------------------------------------------------------------

/// value > 0. A value of sizes and indices only gives a condition on these.
Formula is_positive(const Polynomial& value);
/// value == 0.
Formula equals_zero(const Polynomial& value);
/// The negation of a condition on elements.
Formula opposite_of_element(const Formula& element);
Formula substitute_in_element(const Formula& element, const DimensionBindings& bindings);

/// A polynomial over sizes and indices; nothing if it is something else.
std::optional<Dimension> as_dimension(const Polynomial& value);

// ---- Elements as indices -----------------------------------------------------------------------

/// The value as an index: a polynomial over sizes if it is one, otherwise a symbol.
Dimension as_index(Pieces value);
bool depends_on_elements(const Dimension& index);
/// The value that a symbol stands for; null for other symbols.
const Pieces* value_of_symbol(const std::string& symbol);

// ---- Integers ----------------------------------------------------------------------------------

/// Element types of the inputs that are read.
using InputTypes = std::function<DataType(std::uint32_t)>;

/// A function of which nothing is known but that equal arguments give equal values. `type`, if it is
/// one of integers, is the type of the values.
Polynomial opaque(std::string function, std::vector<Polynomial> arguments, DataType type);
/// Whether the value is surely an integer of the type: a read, a sum of few reads, a maximum.
bool fits(const Polynomial& value, DataType type, const InputTypes& types);
/// The integer of the type to which the value is congruent modulo 2^bits(type). `value` is an
/// integer.
Polynomial wrapped(const Polynomial& value, DataType type, const InputTypes& types);

}  // namespace lemma::verifier::index
