#pragma once
// Abstract interpretation of an operator's definition: facts of the elements of its outputs.
//
// Bounds are rounded outwards, so that they hold over the reals. Integers are computed in 64 bits;
// a result that may leave its type's range may be anything in it.

#include "facts/value_facts.h"
#include "ir/definition.h"

namespace lemma {

struct DefinitionFactsInput {
  std::span<const ValueFacts> operands;
  OperandIdentities identities;
  std::span<const Shape> shapes;  // of the operands
  Reads reads = Reads::must_be_shown;
  /// Symbols that may be taken to be larger than they are by themselves: for what has no elements
  /// otherwise nothing need be shown.
  const DimensionBindings* sizes = nullptr;
};

ValueFacts facts_of_output(const Definition& definition, const DefinedOutput& output,
                           const DefinitionFactsInput& input);

/// Some index of a read is computed from elements.
bool has_computed_reads(const Definition& definition);

/// Assumes that a tensor of this shape has elements. Then each size that is a symbol is at least 1:
/// these symbols are replaced by themselves plus 1.
void assume_elements(const Shape& shape, DimensionBindings& sizes);

/// The range of an integer type or bool; all numbers for real types.
void enter_type_range(DataType type, ValueFacts& facts);

}  // namespace lemma
