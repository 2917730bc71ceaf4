#pragma once
// Random graphs of small tensors, for schedules.

#include <cstdint>

#include "ir/graph.h"

namespace lemma::backend {

/// About `size` operations on matrices: elementwise ones, products, transposes, concatenations, sums, softmax and
/// reshapes, with two inputs and at least one output. The same for a seed on every machine.
Graph random_graph(std::uint64_t seed, int size, DataType type = DataType::f32);

}  // namespace lemma::backend
