#pragma once
// Runs one rank of a program in which each rank has operators of its own.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plans/by_rank/ranked_program.h"
#include "plans/on_ranks/rank_program.h"

namespace lemma::plans {

/// Operators of one rank between two messages, and the message or exchange after them.
struct RankStage {
  Graph graph;  // inputs and outputs are called "v1", "v2", ... by value of the program's graph
  std::vector<ValueId> inputs, outputs;
  std::optional<Step> then;        // no computing
  std::vector<ValueId> last_used;  // that nothing behind the stage reads
};

/// What a rank does; `rank` is one of the program's.
Result<std::vector<RankStage>> rank_stages(const RankedProgram& program, std::size_t rank);

using RankValueMap = std::map<ValueId, interpreter::Tensor>;

/// What a rank has before it begins, for inputs of the single-device graph by name.
Result<RankValueMap> source_tensors(const Graph& single, const RankedProgram& program,
                                    std::size_t rank,
                                    std::span<const interpreter::NamedTensor> inputs);

/// The rank's outputs, in the order of RankedProgram::outputs.
Result<std::vector<interpreter::Tensor>> run_stages(const RankedProgram& program,
                                                    const std::vector<RankStage>& stages,
                                                    RankValueMap values, const StageEngine& engine,
                                                    Communicator& communicator);

/// An output of the single-device graph from what ranks have of it; `parts` belong to RankedProgram::outputs.
Result<interpreter::Tensor> whole_output(const RankedProgram& program, const std::string& name,
                                         const TensorType& type,
                                         const std::vector<interpreter::Tensor>& parts);

}  // namespace lemma::plans
