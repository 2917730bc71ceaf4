#include "cli/task_program.h"

#include <chrono>

#include <fmt/format.h>

#include "backend_cuda/execute/built_program.h"
#include "backend_cuda/execute/cuda_runner.h"
#include "backend_cuda/execute/prepared_graph.h"

namespace lemma {

using interpreter::NamedTensor;
using interpreter::Tensor;

namespace {

/// In the order of the program.
std::vector<Tensor> ordered_inputs(const backend::TaskProgram& program,
                                   std::span<const NamedTensor> inputs) {
  std::vector<Tensor> ordered;
  for (const backend::BufferNumber number : program.graph.inputs)
    for (const NamedTensor& tensor : inputs)
      if (tensor.name == program.graph.buffers[number].name) ordered.push_back(tensor.value);
  return ordered;
}

}  // namespace

Result<std::vector<Tensor>> run_as_task_program(const Graph& graph,
                                                std::span<const NamedTensor> inputs,
                                                const backend::CompileOptions& options,
                                                double& seconds) {
  LEMMA_ASSIGN_OR_RETURN(const Graph prepared, backend::program_graph(graph, inputs));
  LEMMA_ASSIGN_OR_RETURN(const backend::TaskProgram program, backend::compile(prepared, options));
  LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path cache, backend::default_cache_folder());
  LEMMA_ASSIGN_OR_RETURN(const auto builder, backend::ProgramBuilder::create(cache));
  LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path folder, builder.write(program));
  LEMMA_RETURN_IF_ERROR(builder.build(folder, [] { return false; }));
  LEMMA_ASSIGN_OR_RETURN(const auto executable, backend::BuiltProgram::open(folder));
  backend::ProgramCall call(program, ordered_inputs(program, inputs));
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_RETURN_IF_ERROR(executable.run(call));
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return call.outputs();
}

Result<CudaOutputs> run_on_cuda_device(const Graph& graph, std::span<const NamedTensor> inputs,
                                       const CudaTarget& target, double& seconds) {
  LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path cache, backend::default_cache_folder());
  LEMMA_ASSIGN_OR_RETURN(const auto builder,
                         backend::ProgramBuilder::create_for_cuda(cache, target.options));
  LEMMA_ASSIGN_OR_RETURN(const Graph prepared, backend::program_graph(graph, inputs));
  backend::CompileOptions options;
  options.device = target.device;
  LEMMA_ASSIGN_OR_RETURN(const backend::TaskProgram program, backend::compile(prepared, options));
  LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path folder, builder.write(program));
  LEMMA_RETURN_IF_ERROR(builder.build(folder, [] { return false; }));
  LEMMA_ASSIGN_OR_RETURN(backend::CudaRun run,
                         backend::run_on_cuda(folder, program, ordered_inputs(program, inputs)));
  if (!run.found_device)
    return CudaOutputs{
        {}, fmt::format("no CUDA device was found; the program is built in {}", folder.string())};
  seconds = run.seconds;
  return CudaOutputs{std::move(run.outputs), ""};
}

}  // namespace lemma
