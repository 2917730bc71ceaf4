#pragma once
// Values of free parameters where a rule is applied.
//
//   rule rows_in_blocks
//     x : [k*m, c]
//     w : [c, n]
//     free k : divisors of k*m
//     MatMul(x, w) => Reshape{shape=[k*m, n]}(MatMul(Reshape{shape=[k, m, c]}(x), w))
//
// The left side fits any matrix and says nothing of k. So each value of the list is tried: what follows from it is
// bound (m, by exact division), and all shapes, ranges and conditions are asked as always. A value with
// which they hold is one way to apply the rule; the others are not. Where the list comes from is
// therefore no part of the claim, which is about all k.
//
// Several free parameters are chosen in the order of their lines, the last one fastest. One that the matched side binds
// takes no other values.

#include <cstdint>
#include <span>
#include <vector>

#include "ir/dimension.h"
#include "rule_language/substitution.h"

namespace lemma {

/// The most ways in which a rule is applied at one place; those that come first are taken.
inline constexpr std::size_t most_free_ways = 16;
/// How many values are tried for that.
inline constexpr std::size_t most_free_trials = 1024;
/// The largest divisor that is looked for.
inline constexpr std::int64_t largest_free_divisor = 256;

/// The divisors from 2 on that a size has for all values of its symbols, ascending. None of 0, which all numbers divide.
std::vector<std::int64_t> divisors_of_size(const Dimension& size, std::size_t most);

/// Binds variables as bind_variables() does, for each way to choose values; `target_values` are those of `free k :
/// target`. One way, or none, if the left side leaves no parameter open.
std::vector<RuleBindings> bind_freely(const Substitution& rule,
                                      std::span<const TensorType* const> input_types,
                                      std::span<const MatchedNode> nodes,
                                      std::span<const std::int64_t> target_values);

}  // namespace lemma
