#pragma once
// Positions in terms. A tuple of values is a tuple of terms. A position is the number of an output
// of the tuple, followed by operand numbers from users to operands: {0, 1} is the second operand of
// the operation that computes the first output.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma {

using Position = std::vector<std::uint32_t>;

std::string text(const Position& position);  // "0.1"
Result<Position> parse_position(std::string_view text);

Result<ValueId> value_at(const Graph& graph, std::span<const ValueId> tuple,
                         const Position& position);

/// The output of the tuple that the position leads into, with the value there replaced and
/// everything above it built anew, with types inferred anew. Other places stay as they are.
Result<ValueId> replaced_at(Graph& graph, std::span<const ValueId> tuple, const Position& position,
                            ValueId replacement);

}  // namespace lemma
