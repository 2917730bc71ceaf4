#pragma once
// Chakra's execution traces (Sridharan et al., 2023, "Chakra: Advancing performance benchmarking and co-design using standardized
// execution traces"): a file for each rank, of messages with their lengths in front, the first of them metadata and the others
// nodes; and a JSON file of the groups of ranks, as ASTRA-sim reads it.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plans/traces/rank_trace.h"

namespace lemma::traces {

/// The bytes of the file of a rank. Chakra has whole microseconds; picoseconds are an attribute of Lemma's own beside them. It has
/// no type for Permute: such a collective is an error.
Result<std::string> chakra_bytes(const Traces& traces, std::size_t rank);

/// {"0": [0, 1], ...}
std::string groups_json(const Traces& traces);

/// The operations of the file of a rank. What takes time and is no communication computes. The error: where a message is cut off or
/// is none, a node that has a number twice, waits for none that is there, or communicates in a way that cannot be simulated.
Result<std::vector<Operation>> read_chakra(std::string_view bytes);

/// Ranks of the groups of a JSON file by name. The error: what is not of that form, or a rank that is none of so many.
Result<std::map<std::string, std::vector<std::size_t>>> read_groups(std::string_view json,
                                                                    std::size_t ranks);

}  // namespace lemma::traces
