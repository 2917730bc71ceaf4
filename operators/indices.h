#pragma once
// Indices that are read from a tensor.

#include <vector>

#include "ir/definition.h"
#include "ir/operator.h"

namespace lemma::operators {

/// Element `at` of an integer input as an index into an axis of `size`; negative ones count from
/// the end.
Expression read_index(DefinitionBuilder& builder, const Instance& instance, std::uint32_t input,
                      const std::vector<Expression>& at, const Dimension& size);

/// Length of the index vectors along the last axis of input 1.
Result<std::size_t> index_width(const Instance& instance);

}  // namespace lemma::operators
