#pragma once
// Operators in an order, some of them repeatedly, so that the arena is within a limit (docs/memory.md).

#include <optional>

#include "backend/schedule/placement.h"

namespace lemma::backend {

struct OrderedOperators {
  OperatorGraph graph;  // an operator that runs again is there again, with buffers of its own
  Placement placement;  // operators one after the other, each on all units
  MemoryFigures memory;
};

/// Nothing but the order: the one that needs the least memory, where each operator runs once.
OrderedOperators order_of_least_memory(const OperatorGraph& graph, const VirtualDevice& device);

/// How long plans are looked for.
enum class Effort : std::uint8_t { quick, usual };

/// Nothing: no plan was found.
std::optional<OrderedOperators> order_within(const OperatorGraph& graph,
                                             const VirtualDevice& device, std::uint64_t limit,
                                             Effort effort);

/// The least limit for which an order is found.
std::uint64_t least_memory(const OperatorGraph& graph, const VirtualDevice& device);

}  // namespace lemma::backend
