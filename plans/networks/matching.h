#pragma once
// The heaviest assignment: each device sends to one other device, and each receives from one.

#include <cstdint>
#include <vector>

namespace lemma::networks {

/// By row, the column of the assignment with the greatest sum of weights (the Hungarian method; Kuhn, 1955, in Jonker and Volgenant's
/// form of shortest augmenting paths, 1987). Weights are finite, `weights[row * size + column]`, and nothing is assigned to itself.
std::vector<std::uint32_t> heaviest_assignment(const std::vector<double>& weights,
                                               std::size_t size);

}  // namespace lemma::networks
