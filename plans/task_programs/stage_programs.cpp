#include "plans/task_programs/stage_programs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "backend/compile/compile.h"
#include "backend/execute/built_program.h"
#include "backend/execute/prepared_graph.h"
#include "ir/rebuild.h"

namespace lemma::plans {

namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

std::string input_name(std::size_t position) { return fmt::format("i{}", position); }

struct StageProgram {
  backend::TaskProgram program;
  backend::BuiltProgram built;

  /// Inputs are in the order of the stage's.
  Result<std::vector<Tensor>> operator()(std::span<const NamedTensor> inputs) const {
    std::vector<NamedTensor> numbered;
    for (const NamedTensor& input : inputs)
      numbered.push_back({input_name(numbered.size()), input.value});
    backend::ProgramCall call =
        backend::ProgramCall::in_place(program, backend::inputs_by_position(program, numbered));
    LEMMA_RETURN_IF_ERROR(built.run(call));
    return call.outputs();
  }
};

Result<backend::TaskProgram> planned(const Graph& stage) {
  LEMMA_ASSIGN_OR_RETURN(const Graph graph, numbered(stage));
  LEMMA_ASSIGN_OR_RETURN(const Graph prepared, backend::program_graph(graph));
  return backend::compile(prepared, {});
}

using Programs = std::vector<std::shared_ptr<const StageProgram>>;  // by stage; null: interpreted

StageEngine engine_of(Programs programs) {
  return [programs = std::move(programs), otherwise = interpreter_engine(1)](
             std::size_t stage, const Graph& graph, std::span<const NamedTensor> inputs) {
    const auto& program = programs[stage];
    return program != nullptr ? (*program)(inputs) : otherwise(stage, graph, inputs);
  };
}

/// A program that is written and not yet compiled, and the stages that are computed by it.
struct Written {
  backend::TaskProgram program;
  std::vector<std::size_t> stages;
};

/// The programs of the stages by folder; stages that have none are told.
Result<std::map<std::filesystem::path, Written>> written_programs(
    std::span<const Graph* const> stages, const backend::ProgramBuilder& builder,
    std::vector<std::string>& interpreted) {
  std::map<std::filesystem::path, Written> result;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i] == nullptr) continue;
    auto program = planned(*stages[i]);
    const auto folder = program ? builder.write(*program)
                                : Result<std::filesystem::path>(tl::unexpected(program.error()));
    if (!folder && folder.error().kind != ErrorKind::unsupported)
      return tl::unexpected(folder.error());
    if (!folder) {
      interpreted.push_back(
          fmt::format("stage {} is interpreted: {}", i + 1, folder.error().message));
      continue;
    }
    const auto [entry, is_new] = result.try_emplace(*folder);
    if (is_new) entry->second.program = std::move(*program);
    entry->second.stages.push_back(i);
  }
  return result;
}

template <typename Stages>
std::vector<const Graph*> graphs_of(const Stages& stages) {
  std::vector<const Graph*> result;
  for (const auto& stage : stages) result.push_back(stage.outputs.empty() ? nullptr : &stage.graph);
  return result;
}

}  // namespace

std::vector<const Graph*> stage_graphs(const RankProgram& program) {
  return graphs_of(program.stages);
}
std::vector<const Graph*> stage_graphs(const std::vector<RankStage>& stages) {
  return graphs_of(stages);
}

Result<Graph> numbered(const Graph& stage) {
  Graph result;
  std::vector<ValueId> values(stage.value_count(), ValueId::none());
  for (std::size_t i = 0; i < stage.inputs().size(); ++i) {
    const ValueId input = stage.node(stage.inputs()[i]).output();
    LEMMA_ASSIGN_OR_RETURN(values[input.v], result.add_input(input_name(i), stage.type(input)));
  }
  for (const NodeId id : stage.live_nodes()) {
    const Node& node = stage.node(id);
    if (node.kind != NodeKind::input)
      LEMMA_RETURN_IF_ERROR(copy_node(stage, node, result, values, ValueNames::dropped));
  }
  for (const GraphOutput& output : stage.outputs())
    LEMMA_RETURN_IF_ERROR(
        result.add_output(fmt::format("o{}", result.outputs().size()), values[output.value.v]));
  return result;
}

Result<StagePrograms> stage_programs(std::span<const Graph* const> stages,
                                     Communicator& communicator) {
  LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path cache, backend::default_cache_folder());
  // Where there is no compiler, the first rank says so.
  const bool is_first = communicator.rank() == 0;
  if (!is_first) LEMMA_RETURN_IF_ERROR(meet(communicator));
  LEMMA_ASSIGN_OR_RETURN(const auto builder, backend::ProgramBuilder::create(cache));
  if (is_first) LEMMA_RETURN_IF_ERROR(meet(communicator));
  StagePrograms result;
  LEMMA_ASSIGN_OR_RETURN(auto written, written_programs(stages, builder, result.interpreted));
  std::vector<std::filesystem::path> folders;
  for (const auto& [folder, program] : written) folders.push_back(folder);
  for (std::size_t turn = 0; turn < communicator.size(); ++turn) {
    if (turn == communicator.rank())
      LEMMA_RETURN_IF_ERROR(builder.build_all(
          folders, [&] { return communicator.is_over(); }, 0));
    LEMMA_RETURN_IF_ERROR(meet(communicator));
  }
  Programs programs(stages.size());
  for (auto& [folder, program] : written) {
    LEMMA_ASSIGN_OR_RETURN(auto built, backend::BuiltProgram::open(folder));
    const auto shared = std::make_shared<const StageProgram>(
        StageProgram{std::move(program.program), std::move(built)});
    for (const std::size_t stage : program.stages) programs[stage] = shared;
  }
  result.engine = engine_of(std::move(programs));
  return result;
}

}  // namespace lemma::plans
