#pragma once
// Products of rows of one matrix with one weight become one product of the whole matrix.

#include "base/result.h"
#include "ir/graph.h"

namespace lemma::backend {

/// The product of part(x) and w becomes part(the product of x and w), for parts that give rows of x, together as
/// many as it has (Slice, Split, Squeeze; recognised by their definitions): a row of a product needs no other row. So the
/// steps of a recurrence read the weights of what they are given once for all steps, not once each (operator batching,
/// Wolong), and parts are copied nowhere, since `fuse` reads through them. Left as they are: parts of many rows, which
/// gain nothing, and those of an x that is itself put together of steps, where the first would wait for the last.
///
/// The graph has no composite operators (ir/expand.h), and all sizes are constant.
Result<Graph> join_products(const Graph& graph);

}  // namespace lemma::backend
