#pragma once
// Runs one rank of a program in which each rank has operators of its own.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// The messages of a step, numbered as the program's transfers.
std::vector<MessageChannel> message_channels(const RankedProgram& program);

using RankValueMap = std::map<ValueId, interpreter::Tensor>;

/// What a step gives and the next one reads: an output "w.next" is the next input "w" of a rank.
struct PassedValue {
  std::size_t output = 0;  // of RankedProgram::outputs
  std::size_t rank = 0;    // that reads it
  ValueId source;          // of the program's graph
  std::uint32_t channel =
      0;  // behind those of the program; of a rank that gives it to itself it means nothing
};
/// An error: no rank gives the part that another one reads.
Result<std::vector<PassedValue>> passed_values(const Graph& single, const RankedProgram& program,
                                               std::string_view next);
/// The messages of these, where they go to another rank.
std::vector<MessageChannel> passed_channels(const RankedProgram& program,
                                            std::span<const PassedValue> passed);
/// Puts what a step gave in the place of what it read. `outputs`: the rank's.
Result<void> pass_on(const RankedProgram& program, std::span<const PassedValue> passed,
                     std::span<const interpreter::Tensor> outputs, RankValueMap& sources,
                     Communicator& communicator);

/// What a rank has before it begins, for inputs of the single-device graph by name.
Result<RankValueMap> source_tensors(const Graph& single, const RankedProgram& program,
                                    std::size_t rank,
                                    std::span<const interpreter::NamedTensor> inputs);

/// The rank's outputs, in the order of RankedProgram::outputs.
Result<std::vector<interpreter::Tensor>> run_stages(const RankedProgram& program,
                                                    const std::vector<RankStage>& stages,
                                                    RankValueMap values, const StageEngine& engine,
                                                    Communicator& communicator,
                                                    const ExchangeSchedules* schedules = nullptr);

/// An output of the single-device graph from what ranks have of it; `parts` belong to RankedProgram::outputs.
Result<interpreter::Tensor> whole_output(const RankedProgram& program, const std::string& name,
                                         const TensorType& type,
                                         const std::vector<interpreter::Tensor>& parts);

}  // namespace lemma::plans
