#include "programs/task_program.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "backend/execute/built_program.h"
#include "backend/execute/cuda_runner.h"
#include "backend/execute/prepared_graph.h"

namespace lemma {

using interpreter::NamedTensor;

namespace {

/// Compiled, unless that was done, and ready to run.
Result<backend::BuiltProgram> built(const backend::TaskProgram& program) {
  LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path cache, backend::default_cache_folder());
  LEMMA_ASSIGN_OR_RETURN(const auto builder, backend::ProgramBuilder::create(cache));
  LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path folder, builder.write(program));
  LEMMA_RETURN_IF_ERROR(builder.build(
      folder, [] { return false; }, 0));
  return backend::BuiltProgram::open(folder);
}

/// The times by unit, from a list of two numbers for each step, unit after unit.
StepTimes by_unit(const backend::TaskProgram& program, std::span<const double> times) {
  StepTimes result;
  for (const auto& steps : program.units) {
    auto& unit = result.emplace_back();
    for (std::size_t i = 0; i < steps.size(); ++i, times = times.subspan(2))
      unit.emplace_back(times[0], times[1]);
  }
  return result;
}

}  // namespace

Result<ProgramOutputs> run_as_task_program(const Graph& graph, std::span<const NamedTensor> inputs,
                                           const backend::CompileOptions& options,
                                           double& seconds) {
  LEMMA_ASSIGN_OR_RETURN(const Graph prepared, backend::program_graph(graph, inputs));
  LEMMA_ASSIGN_OR_RETURN(const backend::TaskProgram program, backend::compile(prepared, options));
  LEMMA_ASSIGN_OR_RETURN(const auto executable, built(program));
  backend::ProgramCall call(program, backend::inputs_by_position(program, inputs));
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_RETURN_IF_ERROR(executable.run(call));
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return ProgramOutputs{call.outputs(), backend::kernel_count(program.graph)};
}

Result<StepTimes> measured_step_times(const backend::TaskProgram& program,
                                      std::span<const NamedTensor> inputs, int runs) {
  LEMMA_ASSIGN_OR_RETURN(const auto executable, built(program));
  backend::ProgramCall call(program, backend::inputs_by_position(program, inputs));
  // The first run starts threads and fills caches.
  LEMMA_RETURN_IF_ERROR(executable.run(call));
  std::vector<std::vector<double>> recorded;
  for (int i = 0; i < runs; ++i) {
    LEMMA_ASSIGN_OR_RETURN(recorded.emplace_back(), executable.run_recorded(call));
  }
  const auto length = [](const std::vector<double>& times) {
    return times.empty() ? 0 : *std::max_element(times.begin(), times.end());
  };
  const auto median = recorded.begin() + runs / 2;
  std::nth_element(recorded.begin(), median, recorded.end(),
                   [&](const auto& a, const auto& b) { return length(a) < length(b); });
  return by_unit(program, *median);
}

Result<CudaOutputs> run_on_cuda_device(const Graph& graph, std::span<const NamedTensor> inputs,
                                       const NvidiaDevice& asked, double& seconds) {
  NvidiaDevice target = asked;
  LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path cache, backend::default_cache_folder());
  LEMMA_RETURN_IF_ERROR(backend::cuda_compiler_version());
  LEMMA_ASSIGN_OR_RETURN(const Graph prepared, backend::program_graph(graph, inputs));
  LEMMA_ASSIGN_OR_RETURN(const backend::TaskProgram program, compile_for(prepared, {}, target));
  LEMMA_ASSIGN_OR_RETURN(const auto builder,
                         backend::ProgramBuilder::create_for_cuda(cache, target.options));
  LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path folder, builder.write(program));
  LEMMA_RETURN_IF_ERROR(builder.build(folder, [] { return false; }));
  LEMMA_ASSIGN_OR_RETURN(
      backend::CudaRun run,
      backend::run_on_cuda(folder, program, backend::inputs_by_position(program, inputs)));
  if (!run.found_device)
    return CudaOutputs{
        {}, fmt::format("no CUDA device was found; the program is built in {}", folder.string())};
  seconds = run.seconds;
  return CudaOutputs{std::move(run.outputs), ""};
}

}  // namespace lemma
