#include "backend_cuda/emit_cuda/emit_cuda.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend_cuda/emit_cuda/cuda_kernels.h"
#include "backend_cuda/emit_cuda/cuda_parts.h"
#include "backend_cuda/emit_cuda/cuda_tables.h"

namespace lemma::backend {

namespace {

std::string kernels_text(const CudaKernels& kernels) {
  return "#pragma once\n"
         "// One function for each distinct kernel: a part of a tensor from its operands. Threads "
         "share its elements.\n\n"
         "#include <cstdint>\n#include <limits>\n\n"
         "// exp, tanh and erf are those of the device.\n#define EXACT_FUNCTIONS\n"
         "#include \"fast_functions.h\"\n#include \"half_types.h\"\n#include "
         "\"run_time.cuh\"\n#include "
         "\"scalar_operations.h\"\n#include \"tiled_products.cuh\"\n\n"
         "namespace {\n\nusing namespace lemma::lowering;\n\n" +
         kernels.text + "}  // namespace\n";
}

Words words_of(Programs programs, const ProgramNames& names, const CudaOptions& options,
               const CudaKernels& kernels, const CudaMemory& memory) {
  Words words = program_words(programs, names, kernels.count);
  const std::size_t units = programs.front().units.size();
  words["units"] =
      fmt::format("{} block{} of {} threads", units, units == 1 ? "" : "s", options.block_threads);
  words["architecture"] = options.architecture;
  words["tf32"] = "";
  if (options.takes_tf32) {
    // 32 units of the roundoff of a factor with 11 bits, as outputs of f16 have.
    constexpr double allowed = 32 * 0x1p-11;
    for (const char* const word : {"of_element", "of_largest"})
      words[word] = fmt::format("{}", std::max(allowed, std::stod(words[word])));
    words["tf32"] =
        "\n\nMost products of f32 are computed with factors that are rounded to TF32 (10 bits "
        "behind the "
        "point).";
  }
  words["architecture_number"] = options.architecture.substr(options.architecture.find('_') + 1);
  words["shared_bytes"] = fmt::format("{}", memory.shared_bytes);
  words["scratch_bytes"] = fmt::format("{}", memory.state_offset - memory.scratch_offset);
  return words;
}

}  // namespace

Result<ProgramFiles> emit_cuda_program(Programs programs, const ProgramNames& names,
                                       const CudaOptions& options) {
  LEMMA_RETURN_IF_ERROR(check_sizes(programs));
  const std::uint64_t addresses = address_bytes(programs);
  const std::uint64_t shared = programs.front().device.shared_bytes_per_unit;
  LEMMA_ASSIGN_OR_RETURN(
      const CudaKernels kernels,
      cuda_kernels(programs, options, shared > addresses ? shared - addresses : 0));
  const CudaMemory memory = cuda_memory(programs, kernels);
  const Words words = words_of(programs, names, options, kernels, memory);
  ProgramFiles files = shared_files(words);
  files.insert(files.end(),
               {{"CMakeLists.txt", filled_in(cuda_parts::cmake, words)},
                {"README.md", filled_in(cuda_parts::readme, words)},
                {"device_calls.cuh", std::string(cuda_parts::device_calls)},
                {"kernels.cuh", kernels_text(kernels)},
                {names.name + ".cu", filled_in(cuda_parts::program, words)},
                {names.name + ".h", filled_in(cuda_parts::interface_header, words)},
                {"ptx.cuh", std::string(cuda_parts::ptx)},
                {"run_time.cuh", std::string(cuda_parts::run_time)},
                {"runner.cu", filled_in(cuda_parts::runner, words)},
                {"schedule.cuh", cuda_tables(programs, kernels, memory, options.block_threads)},
                {"selfcheck.cu", filled_in(cuda_parts::selfcheck, words)},
                {"tiled_products.cuh", std::string(cuda_parts::tiled_products)}});
  return files;
}

}  // namespace lemma::backend
