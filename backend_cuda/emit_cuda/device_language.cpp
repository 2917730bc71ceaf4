#include "backend_cuda/emit_cuda/device_language.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "backend_cuda/emit_cuda/cuda_parts.h"
#include "base/number_text.h"

namespace lemma::backend {

namespace {

struct Replacement {
  std::string_view cuda, hip;
};

/// The first that fits is taken.
constexpr Replacement replacements[] = {
    // The compiler.
    {"__CUDACC__", "__HIP__"},
    {"__CUDA_ARCH__ >= (from_sm) && ", ""},
    {"__CUDA_ARCH__", "__HIP_DEVICE_COMPILE__"},
    {"const __grid_constant__ ", "const "},
    // Its second argument counts the wavefronts of one of four SIMD units.
    {"__launch_bounds__(block_threads, blocks_of_multiprocessor)",
     "__launch_bounds__(block_threads, (blocks_of_multiprocessor * block_threads / warp_size + 3) "
     "/ 4)"},
    {"constexpr unsigned warp_size = 32;", "constexpr unsigned warp_size = 64;"},
    {"    __syncthreads();  // all elements are written",
     "    ptx::publish_to_device();\n    __syncthreads();  // all elements are written"},
    // Files.
    {"<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"`ptx.cuh` | all PTX of the program", "`hip.cuh` | what HIP and its compiler have beside C++"},
    {"ptx.cuh", "hip.cuh"},
    {"{{name}}.cu", "{{name}}.hip"},
    {"selfcheck.cu", "selfcheck.hip"},
    {"runner.cu", "runner.hip"},
    // Calls and types that are named otherwise.
    {"check(cudaFuncSetAttribute(run_schedule, cudaFuncAttributeMaxDynamicSharedMemorySize,",
     "check(ptx::allow_shared_bytes(run_schedule,"},
    {"check(cudaLaunchKernel(", "check(ptx::launch("},
    {"check(cudaLaunchCooperativeKernel(", "check(ptx::launch_cooperative("},
    {"cudaDevAttrMultiProcessorCount", "hipDeviceAttributeMultiprocessorCount"},
    {"cudaDeviceAttr ", "hipDeviceAttribute_t "},
    {"cudaErrorMemoryAllocation", "hipErrorOutOfMemory"},
    {"cudaHostAllocMapped", "hipHostMallocMapped"},
    {"cudaHostAlloc", "hipHostMalloc"},
    {"cudaFreeHost", "hipHostFree"},
    {"CUstream_st", "ihipStream_t"},
    {"cuda_error", "hip_error"},
    {"cuda_code", "hip_code"},
    // What is said.
    {"It needs the CUDA toolkit\n(12 or later)", "It needs HIP\n(ROCm 5.2 or later)"},
    {"nvcc -std=c++20 -O3 -arch={{architecture}} --expt-relaxed-constexpr",
     "hipcc -std=c++20 -O3 --offload-arch={{architecture}}"},
    {"nvcc", "hipcc"},
    {"ptxas", "the compiler"},
    {"NVIDIA", "AMD"},
    {"CUDA", "HIP"},
};

bool is_of_identifier(char c) { return is_ascii_letter_or_digit(c) || c == '_'; }

/// Whether "cuda" begins the name of a call or a type there, as in cudaMalloc: HIP has it under the same name.
bool is_name_of_runtime(std::string_view part, std::size_t at) {
  constexpr std::string_view prefix = "cuda";
  const std::size_t next = at + prefix.size();
  return part.substr(at, prefix.size()) == prefix && next < part.size() && 'A' <= part[next] &&
         part[next] <= 'Z' && (at == 0 || !is_of_identifier(part[at - 1]));
}

std::string in_hip(std::string_view part) {
  std::string result;
  for (std::size_t at = 0; at < part.size();) {
    const auto* const known = std::find_if(
        std::begin(replacements), std::end(replacements),
        [&](const Replacement& each) { return part.substr(at).starts_with(each.cuda); });
    if (known != std::end(replacements)) {
      result += known->hip;
      at += known->cuda.size();
    } else if (is_name_of_runtime(part, at)) {
      result += "hip";
      at += std::string_view("cuda").size();
    } else {
      result += part[at++];
    }
  }
  return result;
}

}  // namespace

std::string in_language(std::string_view part, const CudaOptions& options) {
  return options.is_hip() ? in_hip(part) : std::string(part);
}

std::string file_in_language(std::string_view file, const CudaOptions& options) {
  if (!options.is_hip()) return std::string(file);
  if (file == "ptx.cuh") return "hip.cuh";
  constexpr std::string_view ending = ".cu";
  return file.ends_with(ending) ? std::string(file.substr(0, file.size() - ending.size())) + ".hip"
                                : std::string(file);
}

LanguageParts language_parts(const CudaOptions& options) {
  if (options.is_hip())
    return {cuda_parts::hip, cuda_parts::device_checks_of_hip, cuda_parts::cmake_of_hip};
  return {cuda_parts::ptx, cuda_parts::device_checks, cuda_parts::cmake};
}

std::string architecture_constant(const CudaOptions& options) {
  if (options.is_hip())
    return fmt::format("constexpr char compiled_for[] = \"{}\";\n", options.architecture);
  return fmt::format("constexpr int compiled_for = {};  // sm_...\n",
                     options.architecture.substr(options.architecture.find('_') + 1));
}

ProgramFiles in_language(ProgramFiles files, const CudaOptions& options) {
  constexpr std::array<std::string_view, 4> without_words = {"fast_functions.h", "half_precision.h",
                                                             "half_types.h", "scalar_operations.h"};
  if (!options.is_hip()) return files;
  for (auto& [file, text] : files)
    if (std::ranges::find(without_words, file) != without_words.end()) text = in_hip(text);
  return files;
}

}  // namespace lemma::backend
