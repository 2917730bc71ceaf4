#pragma once
// What each rank of a plan does, as statements over numbered tensors.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "plans/by_rank/ranked_program.h"
#include "plans/placement/window.h"
#include "plans/program.h"
#include "plans/rank_sources/stage_sources.h"

namespace lemma::plans {

/// A block of a tensor of the single-device graph, in a slot of a rank.
struct SlotBlock {
  std::size_t slot = 0;
  Window window;
};

struct RankSources {
  std::string statements;               // of its program
  std::vector<std::size_t> slot_bytes;  // by slot
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::pair<SlotBlock, ValueId>>
      sources;  // inputs and weights, values of the single-device graph
  std::vector<std::pair<SlotBlock, std::string>> outputs;  // by name
};

/// Errors are `unsupported`, and name the operator.
Result<RankSources> rank_sources(const Graph& single, const Program& program, std::size_t rank,
                                 StageSources& stages);
Result<RankSources> rank_sources(const Graph& single, const RankedProgram& program,
                                 std::size_t rank, StageSources& stages);

}  // namespace lemma::plans
