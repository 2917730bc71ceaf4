#pragma once
// Operations that give one of their operands as it is, because the others hold a number that changes
// nothing: a product with 1, a sum with 0, a padding by nothing. Read off the operator's definition, with
// the known numbers in the place of what is read.

#include <cstdint>
#include <optional>
#include <span>

#include "facts/value_facts.h"
#include "ir/graph.h"

namespace lemma {

struct KeptOperand {
  std::uint32_t operand = 0;
  /// Bit for bit, infinities and NaN included. Otherwise a zero may have another sign (x + 0).
  bool bitwise = true;
};

/// The operand that this output of an operation equals, at every element and in every run, with the same
/// undefined elements. `operands`: what is known of each (anything for absent ones). Nothing is the safe side:
/// composite operators are not looked into, nor what assumes something of sizes.
std::optional<KeptOperand> kept_operand(const Graph& graph, const Node& node, std::uint32_t output,
                                        std::span<const ValueFacts> operands);

/// The number that all elements are, if they are one.
std::optional<double> common_number(const ValueFacts& facts);

}  // namespace lemma
