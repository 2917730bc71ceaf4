#pragma once
// Lowers a definition to loop nests. Each output has a loop for every axis, around an expression.
// Accesses are affine where possible, and reductions are inner loops (lowering/regions.h decides
// where each term is computed). For each read it is known whether it is inside its tensor or has to
// be checked.

#include <optional>

#include "lowering/terms.h"

namespace lemma::lowering {

/// One output, with a variable for each axis longer than 1.
struct LoweredOutput {
  TermGraph graph;
  TermNumber root = 0;
  std::vector<LoopVariable> axes;
  Sizes sizes;
  DataType type = DataType::undefined;
};

/// `parts`: by axis of the output, a divisor of its size if the axis is to be split in two variables
/// (quotient and remainder), or 1; empty if none is.
Result<LoweredOutput> lower(const Definition& definition, const DefinedOutput& output,
                            std::vector<InputView> inputs, Domain domain,
                            const std::vector<std::int64_t>& parts = {});

/// Axes that occur divided by a factor of their size (channels of a grouped convolution); empty if none.
std::vector<std::int64_t> find_parts(const LoweredOutput& output);

/// The input that the output is a copy of, element by element in the same order.
std::optional<std::uint32_t> copied_input(const LoweredOutput& output);

/// The binary operation that adds one more element to a reduction.
ExpressionKind step_of(ExpressionKind reduction);
/// What it begins with, as a lane.
Result<std::uint64_t> neutral_element(ExpressionKind reduction, DataType type, Domain domain);

/// A reduction along lanes is dealt out to so many partial results, which are combined in pairs.
inline constexpr std::size_t partial_results = 512;
/// Whether so few elements are computed by so long a reduction that its terms, not the elements, run
/// along the lanes. They are then added up in another order.
bool reduces_along_lanes(const TermGraph& graph, std::int64_t elements);

}  // namespace lemma::lowering
