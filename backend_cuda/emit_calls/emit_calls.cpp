#include "backend_cuda/emit_calls/emit_calls.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "backend/emit/tables_text.h"
#include "backend_cuda/emit_calls/call_parts.h"
#include "backend_cuda/emit_calls/graph_tables.h"
#include "backend_cuda/emit_cuda/cuda_parts.h"
#include "backend_cuda/emit_cuda/cuda_source.h"

namespace lemma::backend {

namespace {

/// pip puts NVIDIA's libraries into nvidia/NAME beside other packages.
constexpr std::string_view pip_search =
    "find_package(Python3 COMPONENTS Interpreter)\n"
    "set(nvidia_packages \"\")\n"
    "if(Python3_FOUND)\n"
    "  file(GLOB nvidia_packages \"${Python3_SITELIB}/nvidia/*\" "
    "\"${Python3_SITEARCH}/nvidia/*\")\n"
    "endif()\n";
constexpr std::string_view cublas_search =
    "if(NOT TARGET CUDA::cublasLt)\n"
    "  find_path(CUBLAS_INCLUDE_DIR cublasLt.h HINTS ${nvidia_packages} PATH_SUFFIXES include)\n"
    "  find_library(CUBLAS_LIBRARY NAMES cublasLt libcublasLt.so.13 libcublasLt.so.12 HINTS "
    "${nvidia_packages} PATH_SUFFIXES lib)\n"
    "  if(NOT CUBLAS_INCLUDE_DIR OR NOT CUBLAS_LIBRARY)\n"
    "    message(FATAL_ERROR \"cuBLASLt, which this program calls, was not found: set "
    "CUBLAS_INCLUDE_DIR and CUBLAS_LIBRARY\")\n"
    "  endif()\n"
    "  add_library(CUDA::cublasLt UNKNOWN IMPORTED)\n"
    "  set_target_properties(CUDA::cublasLt PROPERTIES IMPORTED_LOCATION \"${CUBLAS_LIBRARY}\"\n"
    "    INTERFACE_INCLUDE_DIRECTORIES \"${CUBLAS_INCLUDE_DIR}\")\n"
    "endif()\n";
constexpr std::string_view cudnn_search =
    "find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${nvidia_packages}\n"
    "  PATH_SUFFIXES include)\n"
    "find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR}\n"
    "  ${nvidia_packages} PATH_SUFFIXES lib lib64)\n"
    "if(NOT CUDNN_INCLUDE_DIR OR NOT CUDNN_LIBRARY)\n"
    "  message(FATAL_ERROR \"cuDNN, which this program calls, was not found: set CUDNN_INCLUDE_DIR "
    "and CUDNN_LIBRARY\")\n"
    "endif()\n";

/// Inputs, outputs and weights of the whole program, without operators. Its other buffers only say which types there are.
TaskProgram interface_of(const RegionProgram& program, const VirtualDevice& device,
                         std::size_t units) {
  TaskProgram result;
  result.device = device;
  result.units.resize(units);
  result.weight_bytes = program.weight_bytes;
  result.arena_bytes = program.arena_bytes;
  const auto add = [&](Buffer buffer) {
    result.graph.buffers.push_back(std::move(buffer));
    return static_cast<BufferNumber>(result.graph.buffers.size() - 1);
  };
  const auto add_all = [&](const std::vector<BufferNumber>& numbers, Memory memory,
                           std::vector<BufferNumber>& list) {
    for (const BufferNumber number : numbers) {
      Buffer buffer = program.buffers[number];
      buffer.memory = memory;
      buffer.position = static_cast<std::uint32_t>(list.size());
      list.push_back(add(std::move(buffer)));
    }
  };
  add_all(program.inputs, Memory::input, result.graph.inputs);
  add_all(program.outputs, Memory::output, result.graph.outputs);
  std::set<BufferNumber> weights;
  for (const LibraryStep& step : program.calls)
    for (const BufferNumber operand : step.operands)
      if (program.buffers[operand].memory == Memory::weights) weights.insert(operand);
  for (const BufferNumber number : weights) add(program.buffers[number]);
  std::set<DataType> types;
  for (const RegionStep& region : program.regions)
    for (const Buffer& buffer : region.program.graph.buffers) types.insert(buffer.type);
  for (const DataType type : types) {
    Buffer none;
    none.type = type;
    add(std::move(none));
  }
  return result;
}

Words library_words(const RegionProgram& program, const ProgramNames& names) {
  const CalledLibraries used = called_libraries(program);
  const auto either = [&used](std::string_view cublas, std::string_view between,
                              std::string_view cudnn) {
    return fmt::format("{}{}{}", used.cublas ? cublas : "",
                       used.cublas && used.cudnn ? between : "", used.cudnn ? cudnn : "");
  };
  std::size_t edges = 0;
  for (const RegionNode& node : program.nodes) edges += node.after.size();
  const std::string include = fmt::format(
      "target_include_directories({} SYSTEM PRIVATE \"${{CUDNN_INCLUDE_DIR}}\")\n"
      "# cuDNN calls its interface of single functions deprecated.\n"
      "target_compile_options({} PRIVATE "
      "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-deprecated-declarations>)\n",
      names.name, names.name);
  return {
      {"libraries", either("cuBLASLt", " and ", "cuDNN")},
      {"library_options", either("-lcublasLt", " ", "-lcudnn")},
      {"library_files", either("`products.cuh`", ", ", "`windows.cuh`")},
      {"find_libraries", fmt::format("{}{}", pip_search, either(cublas_search, "", cudnn_search))},
      {"link_libraries", fmt::format("target_link_libraries({} PRIVATE {})\n{}", names.name,
                                     either("CUDA::cublasLt", " ", "\"${CUDNN_LIBRARY}\""),
                                     used.cudnn ? include : "")},
      {"library_calls", fmt::format("{}", program.calls.size())},
      {"regions", fmt::format("{}", program.regions.size())},
      {"nodes", fmt::format("{}", program.nodes.size())},
      {"edges", fmt::format("{}", edges)},
      {"workspaces", fmt::format("{}", program.workspaces)},
      {"more_codes",
       fmt::format("\n  {}_library_error = 8     /* a call of {}: see {}_library_code */",
                   names.name, either("cuBLASLt", " or ", "cuDNN"), names.name)},
      {"more_functions", fmt::format("/* The same of the last call of a library that failed: "
                                     "its cublasStatus_t or cudnnStatus_t. */\n"
                                     "int {}_library_code(void);\n",
                                     names.name)}};
}

/// What the README says of all regions together.
Words region_words(Programs programs) {
  std::size_t operators = 0, tasks = 0, waits = 0;
  for (const TaskProgram& program : programs) {
    operators += program.graph.operators.size();
    tasks += program.task_count();
    waits += wait_count(program);
  }
  return {{"operators", fmt::format("{}", operators)},
          {"tasks", fmt::format("{}", tasks)},
          {"waits", fmt::format("{}", waits)}};
}

}  // namespace

std::vector<TaskProgram> programs_of(const RegionProgram& program, const VirtualDevice& device) {
  std::vector<TaskProgram> programs;
  for (const RegionStep& region : program.regions) programs.push_back(region.program);
  programs.push_back(
      interface_of(program, device, programs.empty() ? 1 : programs.front().units.size()));
  return programs;
}

Result<ProgramFiles> emit_region_program(const RegionProgram& program, Programs programs,
                                         const ProgramNames& names, const CudaOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const CudaSource source, cuda_source(programs, options));
  Words words = library_words(program, names);
  words.merge(region_words(programs));
  words.merge(cuda_words(programs, options, source));
  words.merge(program_words(programs.last(1), names, source.kernels.count));
  allow_rounded_factors(options, words);
  ProgramFiles files = shared_files(words);
  for (auto& file : kernel_files(programs, options, source, words))
    files.push_back(std::move(file));
  files.insert(files.end(), {{"CMakeLists.txt", filled_in(call_parts::cmake, words)},
                             {"README.md", filled_in(call_parts::readme, words)},
                             {"graph.cuh", graph_tables(program)},
                             {"library_codes.cuh", filled_in(call_parts::library_codes, words)},
                             {names.name + ".cu", filled_in(call_parts::program, words)},
                             {names.name + ".h", filled_in(cuda_parts::interface_header, words)}});
  const CalledLibraries used = called_libraries(program);
  if (used.cublas) files.emplace_back("products.cuh", filled_in(call_parts::products, words));
  if (used.cudnn) files.emplace_back("windows.cuh", filled_in(call_parts::windows, words));
  return files;
}

}  // namespace lemma::backend
