#include "plans/task_programs/stage_programs.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "backend/compile/compile.h"
#include "backend/execute/built_program.h"
#include "backend/execute/prepared_graph.h"

namespace lemma::plans {

namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

struct StageProgram {
  backend::TaskProgram program;
  backend::BuiltProgram built;

  Result<std::vector<Tensor>> operator()(std::span<const NamedTensor> inputs) const {
    backend::ProgramCall call =
        backend::ProgramCall::in_place(program, backend::inputs_by_position(program, inputs));
    LEMMA_RETURN_IF_ERROR(built.run(call));
    return call.outputs();
  }
};

/// A program, and the folder of its source.
struct Written {
  backend::TaskProgram program;
  std::filesystem::path folder;
};

Result<Written> written(const Graph& graph, const backend::ProgramBuilder& builder) {
  LEMMA_ASSIGN_OR_RETURN(const Graph prepared, backend::program_graph(graph));
  LEMMA_ASSIGN_OR_RETURN(backend::TaskProgram program, backend::compile(prepared, {}));
  LEMMA_ASSIGN_OR_RETURN(std::filesystem::path folder, builder.write(program));
  return Written{std::move(program), std::move(folder)};
}

using Programs = std::vector<std::optional<StageProgram>>;  // by stage

StageEngine engine_of(std::shared_ptr<const Programs> programs) {
  return [programs = std::move(programs), otherwise = interpreter_engine(1)](
             std::size_t stage, const Graph& graph, std::span<const NamedTensor> inputs) {
    const auto& program = (*programs)[stage];
    return program ? (*program)(inputs) : otherwise(stage, graph, inputs);
  };
}

}  // namespace

Result<StagePrograms> stage_programs(const RankProgram& program) {
  LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path cache, backend::default_cache_folder());
  LEMMA_ASSIGN_OR_RETURN(const auto builder, backend::ProgramBuilder::create(cache));
  StagePrograms result;
  std::vector<std::pair<std::size_t, backend::TaskProgram>> planned;  // by stage
  std::vector<std::filesystem::path> folders;
  for (std::size_t i = 0; i < program.stages.size(); ++i) {
    if (program.stages[i].outputs.empty()) continue;
    auto source = written(program.stages[i].graph, builder);
    if (!source && source.error().kind != ErrorKind::unsupported)
      return tl::unexpected(source.error());
    if (!source) {
      result.interpreted.push_back(
          fmt::format("stage {} is interpreted: {}", i + 1, source.error().message));
      continue;
    }
    folders.push_back(std::move(source->folder));
    planned.emplace_back(i, std::move(source->program));
  }
  LEMMA_RETURN_IF_ERROR(builder.build_all(
      folders, [] { return false; }, 0));
  auto programs = std::make_shared<Programs>(program.stages.size());
  for (std::size_t k = 0; k < planned.size(); ++k) {
    LEMMA_ASSIGN_OR_RETURN(auto built, backend::BuiltProgram::open(folders[k]));
    (*programs)[planned[k].first].emplace(
        StageProgram{std::move(planned[k].second), std::move(built)});
  }
  result.engine = engine_of(std::move(programs));
  return result;
}

}  // namespace lemma::plans
