#pragma once
// How far rounding moves what a graph gives, measured: the graph is computed again with all real inputs and weights
// changed by a few units of roundoff. Lengths of sums, cancellation and conditioning show in the outputs by that, and
// so do values at the borders of roundings, comparisons and selections. Worst-case bounds from running error analysis
// (Higham, Accuracy and Stability of Numerical Algorithms, chapter 3) say nothing after some layers: they grow with
// the sums of absolute values, which are far larger than the sums.

#include <cstdint>
#include <span>
#include <vector>

#include "check/tolerance.h"
#include "interpreter/run.h"
#include "ir/graph.h"

namespace lemma {

/// The spread of outputs with these values, on these inputs; one for each output. Values that are not finite say
/// nothing. An error: the graph cannot be computed again. `options` are those of the run that gave the outputs.
Result<std::vector<RoundingSpread>> measure_rounding_spread(
    const Graph& graph, std::span<const interpreter::NamedTensor> inputs,
    std::span<const interpreter::Tensor> outputs, const interpreter::RunOptions& options,
    std::uint64_t seed);

/// A tensor whose real elements, but for small integers, are changed by a few units of roundoff.
interpreter::Tensor changed_by_rounding(const interpreter::NamedTensor& tensor, std::uint64_t seed);
/// The spread of an output with these elements from what it was in other runs.
RoundingSpread spread_of(const interpreter::Tensor& expected,
                         std::span<const interpreter::Tensor> moved);

/// What another way of computing the outputs may differ by, with `relative` of each element by the narrowest real type.
/// Where nothing can be measured: the tolerance of check/tolerance.h.
struct OutputAllowance : RoundingAllowance {
  double relative = 0;
};
/// Whether the elements of both, of one type, differ by no more. NaN equals NaN.
bool is_within(const interpreter::Tensor& actual, const interpreter::Tensor& expected,
               const OutputAllowance& allowed);
std::vector<OutputAllowance> output_allowances(const Graph& graph,
                                               std::span<const interpreter::NamedTensor> inputs,
                                               std::span<const interpreter::Tensor> outputs,
                                               const interpreter::RunOptions& options,
                                               std::uint64_t seed);

}  // namespace lemma
