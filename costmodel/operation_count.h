#pragma once
// How much work an operator does, derived from its definition: scalar operations and bytes that
// must move at least once. Symbolic sizes must be bound first.

#include <optional>

#include "ir/operator.h"

namespace lemma {

struct OperationCount {
  double flops = 0;               // arithmetic on real elements; a multiply-add counts as two
  double integer_operations = 0;  // arithmetic on integer and boolean elements, not on indices
  double bytes_read = 0;          // of each input, what is read at least once; at most its size
  double bytes_written = 0;
  bool contraction = false;  // most flops are multiply-adds of a sum of products

  double bytes() const { return bytes_read + bytes_written; }
};

/// The operations of one application with constant shapes; nothing if a size is symbolic. Composite
/// operators count the operations of their parts, and the bytes of their own inputs and outputs.
std::optional<OperationCount> count_operations(const OperatorRecord& record,
                                               const Instance& instance,
                                               std::span<const TensorType> outputs);

}  // namespace lemma
