#pragma once
// What one rank of a program does: graphs that it computes by itself, and what is exchanged between them.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "interpreter/run.h"
#include "plans/on_ranks/communicator.h"
#include "plans/program.h"

namespace lemma::plans {

class ExchangeSchedules;

/// A collective along one axis of the mesh.
struct Exchange {
  std::string op;  // AllGather, ...
  Attributes attributes;
  ValueId operand, result;  // of the program's graph
  TensorType operand_type;  // on one rank
};

/// Operators without a collective between them, then collectives that read what is there by then.
struct Stage {
  Graph graph;  // inputs and outputs are called "v1", "v2", ... by value of the program's graph
  std::vector<ValueId> inputs, outputs;
  std::vector<Exchange> exchanges;
};

struct RankProgram {
  std::vector<Stage> stages;
  std::vector<ValueId> inputs, outputs;  // of the program's graph
  std::vector<Group> groups;             // by axis of the mesh, those that the rank is in
};

/// The program of one rank; the last axis of the mesh is the fastest.
Result<RankProgram> rank_program(const Program& program, std::size_t rank);

/// What a rank gets of a collective of a group; tensors have so many axes of devices in front on which the exchange's
/// attributes count. `schedules`: in place of the built-in ways, where they have one (uses_of says whether they fit); null: none.
Result<interpreter::Tensor> exchange_on_group(const Exchange& exchange, const Group& group,
                                              std::size_t axes_in_front, Communicator& communicator,
                                              const interpreter::Tensor& own,
                                              const ExchangeSchedules* schedules = nullptr);

/// What runs the graph of a stage.
using StageEngine = std::function<Result<std::vector<interpreter::Tensor>>(
    std::size_t stage, const Graph& graph, std::span<const interpreter::NamedTensor> inputs)>;
StageEngine interpreter_engine(int threads);

/// The rank's outputs for its inputs, in their order. They may lie in memory of the communicator, until the end of the next
/// step.
Result<std::vector<interpreter::Tensor>> run_rank(const RankProgram& program,
                                                  std::vector<interpreter::Tensor> inputs,
                                                  const StageEngine& engine,
                                                  Communicator& communicator,
                                                  const ExchangeSchedules* schedules = nullptr);

/// The part of a tensor that a rank has.
Result<interpreter::Tensor> part_of(const interpreter::Tensor& whole, const Placement& placement,
                                    const Mesh& mesh, std::size_t rank);
/// The tensor of which the ranks have these parts; what is partial is reduced.
Result<interpreter::Tensor> whole_of(const std::vector<interpreter::Tensor>& parts,
                                     const Placement& placement, const Mesh& mesh);

}  // namespace lemma::plans
