#include "cli/emission.h"

#include <chrono>

#include <fmt/format.h>

#include "backend_cuda/emit/emit_program.h"
#include "backend_cuda/execute/prepared_graph.h"
#include "backend_cuda/execute/program_times.h"
#include "frontend_onnx/import.h"
#include "interpreter/random.h"
#include "search/fold_constants.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using interpreter::NamedTensor;
using interpreter::Tensor;

/// Random inputs, whose sizes must be fixed.
Result<std::vector<NamedTensor>> inputs_of(const Graph& graph, std::uint64_t seed) {
  std::vector<NamedTensor> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const std::string& name = graph.input_name(node);
    const TensorType& type = graph.type(node.output());
    if (!is_computable(type.data_type))
      return unsupported(fmt::format("input '{}' has the type {}", name, text(type)));
    const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
    if (!sizes)
      return bad_input(fmt::format("the sizes of input '{}', {}, are not fixed; give --shape", name,
                                   text(type)));
    inputs.push_back({name, interpreter::random_tensor(type.data_type, *sizes, seed,
                                                       interpreter::stream_of(name))});
  }
  return inputs;
}

}  // namespace

Result<PreparedModel> prepare_model(const std::string& file,
                                    const std::map<std::string, Shape, std::less<>>& shapes,
                                    std::uint64_t seed) {
  ImportOptions reading;
  reading.fix_overridable_initializers = true;
  reading.shapes = shapes;
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(file, reading));
  LEMMA_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs, inputs_of(model.graph, seed));
  LEMMA_ASSIGN_OR_RETURN(Graph graph, backend::prepared_graph(model.graph, inputs));
  return PreparedModel{std::move(graph), std::move(inputs)};
}

Result<Emission> emit_model(const EmissionRequest& request) {
  LEMMA_ASSIGN_OR_RETURN(const PreparedModel prepared,
                         prepare_model(request.model, request.shapes, request.seed));
  const auto& [graph, inputs] = prepared;
  backend::CompileOptions options = backend::compile_options(request.threads);
  if (request.cuda) options.device = request.cuda->device;
  options.fuses = request.fuses;
  options.stitching = request.stitching;
  options.policy = request.policy;
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_ASSIGN_OR_RETURN(backend::TaskProgram program, backend::compile(graph, options));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (request.directory.empty()) return Emission{std::move(program), seconds};
  interpreter::RunOptions running;
  running.threads = request.threads;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                         interpreter::run(graph, inputs, running));
  backend::RecordedTensors recorded;
  for (const NamedTensor& input : inputs) recorded.push_back(input.value.bytes());
  for (const Tensor& output : outputs) recorded.push_back(output.bytes());
  const std::string stem = fs::path(request.model).stem().string();
  const std::string name = request.name.empty() ? stem : request.name;
  const backend::ProgramNames names = {backend::identifier_of(name), stem};
  LEMMA_ASSIGN_OR_RETURN(const backend::ProgramFiles files,
                         request.cuda
                             ? backend::emit_cuda_program(program, names, request.cuda->options)
                             : backend::emit_program(program, names));
  LEMMA_RETURN_IF_ERROR(
      backend::write_program(program, files, recorded, request.directory, request.replaces));
  return Emission{std::move(program), seconds};
}

Result<void> check_emission(const Graph& graph, int threads) {
  LEMMA_ASSIGN_OR_RETURN(const Graph folded, fold_constants(graph, {}));
  LEMMA_ASSIGN_OR_RETURN(const auto program,
                         backend::compile(folded, backend::compile_options(threads)));
  // Types of elements that are not emitted show only here.
  if (const auto files = backend::emit_program(program, {"model", "model"}); !files)
    return tl::unexpected(files.error());
  return {};
}

fs::path program_directory(const fs::path& model) {
  return fs::path(model).replace_extension(".rtask");
}

Result<void> check_program_directory(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error) || fs::is_empty(directory, error)) return {};
  if (fs::is_directory(directory, error) && fs::exists(directory / "schedule.h", error) &&
      fs::exists(directory / "weights.bin", error))
    return {};
  return bad_input(fmt::format("{}: is there already and is no task program", directory.string()));
}

}  // namespace lemma
