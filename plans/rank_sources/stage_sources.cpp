#include "plans/rank_sources/stage_sources.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "backend/compile/compile.h"
#include "backend/emit/emit_program.h"
#include "backend/emit/program_name.h"
#include "backend/execute/prepared_graph.h"
#include "base/sha256.h"
#include "plans/task_programs/stage_programs.h"

namespace lemma::plans {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view stem = "stage_";

/// Bytes of what the self-check would need: it is the ranks that are checked.
std::uint64_t tensor_bytes(const backend::TaskProgram& program) {
  std::uint64_t bytes = 0;
  for (const auto* tensors : {&program.graph.inputs, &program.graph.outputs})
    for (const backend::BufferNumber number : *tensors)
      bytes += program.graph.buffers[number].bytes();
  return bytes;
}

Result<backend::ProgramFiles> files_of(const backend::TaskProgram& program) {
  backend::ProgramNames names;
  names.name = backend::undecided_name;
  names.title = "a stage of a plan";
  names.missing_bytes = tensor_bytes(program);
  return backend::emit_program(std::span(&program, 1), names);
}

}  // namespace

std::string StageSources::name(std::size_t number) { return fmt::format("{}{}", stem, number); }

Result<std::size_t> StageSources::add(const Graph& graph) {
  LEMMA_ASSIGN_OR_RETURN(const Graph named, numbered(graph));
  LEMMA_ASSIGN_OR_RETURN(const Graph prepared, backend::program_graph(named));
  Stage stage;
  LEMMA_ASSIGN_OR_RETURN(stage.program, backend::compile(prepared, {}));
  LEMMA_ASSIGN_OR_RETURN(const backend::ProgramFiles files, files_of(stage.program));
  // The digest of the weights is in the sources.
  std::string key;
  for (const auto& [file, text] : files) key += fmt::format("{} {}\n", file, sha256(text));
  const auto [known, is_new] = numbers_.emplace(sha256(key), stages_.size());
  if (!is_new) return known->second;
  for (const backend::BufferNumber number : stage.program.graph.inputs) {
    const std::string& input = stage.program.graph.buffers[number].name;
    for (std::size_t i = 0; i < named.inputs().size(); ++i)
      if (named.input_name(named.node(named.inputs()[i])) == input) stage.inputs.push_back(i);
  }
  stages_.push_back(std::move(stage));
  return known->second;
}

Result<void> StageSources::write(const fs::path& directory) const {
  std::error_code error;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const backend::TaskProgram& program = stages_[i].program;
    LEMMA_ASSIGN_OR_RETURN(backend::ProgramFiles files, files_of(program));
    LEMMA_RETURN_IF_ERROR(backend::write_program(std::span(&program, 1),
                                                 backend::with_name(std::move(files), name(i)), {},
                                                 directory / name(i), true));
  }
  for (std::size_t i = stages_.size(); fs::is_directory(directory / name(i), error); ++i)
    if (!backend::written_digest(directory / name(i)).empty())
      fs::remove_all(directory / name(i), error);
  return {};
}

}  // namespace lemma::plans
