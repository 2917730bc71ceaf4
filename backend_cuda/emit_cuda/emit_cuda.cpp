#include "backend_cuda/emit_cuda/emit_cuda.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/emit/parts.h"
#include "backend_cuda/emit_cuda/cuda_parts.h"
#include "backend_cuda/emit_cuda/cuda_source.h"
#include "backend_cuda/emit_cuda/device_language.h"
#include "base/sha256.h"

namespace lemma::backend {

namespace {

std::string kernels_text(const CudaKernels& kernels) {
  return "#pragma once\n"
         "// One function for each distinct kernel: a part of a tensor from its operands. Threads "
         "share its elements.\n\n"
         "#include <cstdint>\n#include <limits>\n\n"
         "// exp, tanh and erf are those of the device.\n#define EXACT_FUNCTIONS\n"
         "#include \"attention.cuh\"\n"
         "#include \"fast_functions.h\"\n#include \"half_types.h\"\n#include "
         "\"run_time.cuh\"\n#include "
         "\"scalar_operations.h\"\n#include \"tiled_products.cuh\"\n\n"
         "namespace {\n\nusing namespace lemma::lowering;\n\n" +
         kernels.text + "}  // namespace\n";
}

}  // namespace

Words cuda_words(Programs programs, const CudaOptions& options, const CudaSource& source) {
  const std::size_t units = programs.front().units.size();
  std::uint64_t resident_bytes = 0;
  for (const TaskProgram& program : programs)
    resident_bytes = std::max(resident_bytes, program.residents.bytes);
  return {{"units", fmt::format("{} block{} of {} threads", units, units == 1 ? "" : "s",
                                options.block_threads)},
          {"architecture", options.architecture},
          {"least_alignment", "16"},
          {"architecture_number", options.architecture.substr(options.architecture.find('_') + 1)},
          {"shared_bytes", fmt::format("{}", source.memory.shared_bytes)},
          {"scratch_bytes",
           fmt::format("{}", source.memory.state_offset - source.memory.scratch_offset)},
          {"resident_bytes", fmt::format("{}", resident_bytes)},
          {"tf32", ""},
          {"more_codes", ""},
          {"more_functions", ""}};
}

void allow_rounded_factors(const CudaOptions& options, Words& words) {
  if (!options.takes_tf32) return;
  // 32 units of the roundoff of a factor with 11 bits, as outputs of f16 have.
  constexpr double allowed = 32 * 0x1p-11;
  for (const char* const word : {"of_element", "of_largest"})
    words[word] = fmt::format("{}", allowed);
  words["tf32"] =
      "\n\nMost products of f32 are computed with factors that are rounded to TF32 (10 bits behind "
      "the point).";
}

Result<CudaSource> cuda_source(Programs programs, const CudaOptions& options) {
  const std::uint64_t addresses = address_bytes(programs);
  const std::uint64_t shared = programs.front().device.shared_bytes_per_unit;
  CudaSource source;
  LEMMA_ASSIGN_OR_RETURN(
      source.kernels, cuda_kernels(programs, options, shared > addresses ? shared - addresses : 0));
  source.memory = cuda_memory(programs, source.kernels);
  return source;
}

ProgramFiles kernel_files(Programs programs, const CudaOptions& options, const CudaSource& source,
                          const Words& words) {
  const auto part = [&options](std::string_view text) { return in_language(text, options); };
  const auto file = [&options](std::string_view name) { return file_in_language(name, options); };
  Words with_checks = words;
  with_checks["device_checks"] = filled_in(language_parts(options).device_checks, words);
  return {{"attention.cuh", part(cuda_parts::attention)},
          {"device_calls.cuh", part(cuda_parts::device_calls)},
          {"kernels.cuh", kernels_text(source.kernels)},
          {"persistent.cuh", filled_in(part(cuda_parts::persistent), with_checks)},
          {file("ptx.cuh"), std::string(language_parts(options).device_words)},
          {"run_time.cuh", part(cuda_parts::run_time)},
          {file("runner.cu"), filled_in(part(cuda_parts::runner), words)},
          {"schedule.cuh", cuda_tables(programs, source.kernels, source.memory, options)},
          {file("selfcheck.cu"), filled_in(part(cuda_parts::selfcheck), words)},
          {"tiled_products.cuh", part(cuda_parts::tiled_products)}};
}

Result<ProgramFiles> emit_cuda_program(Programs programs, const ProgramNames& names,
                                       const CudaOptions& options) {
  LEMMA_RETURN_IF_ERROR(check_sizes(programs));
  LEMMA_ASSIGN_OR_RETURN(const CudaSource source, cuda_source(programs, options));
  Words words = cuda_words(programs, options, source);
  words.merge(program_words(programs, names, source.kernels.count));
  allow_rounded_factors(options, words);
  ProgramFiles files = in_language(shared_files(words), options);
  for (auto& file : kernel_files(programs, options, source, words))
    files.push_back(std::move(file));
  const auto part = [&](std::string_view text) {
    return filled_in(in_language(text, options), words);
  };
  files.insert(files.end(),
               {{"CMakeLists.txt", filled_in(language_parts(options).cmake, words)},
                {"README.md", part(cuda_parts::readme)},
                {file_in_language(names.name + ".cu", options), part(cuda_parts::program)},
                {names.name + ".h", part(cuda_parts::interface_header)}});
  return files;
}

std::string text_digest(std::string_view text) {
  constexpr std::size_t digest_length = 20;
  return sha256(text).substr(0, digest_length);
}

std::string header_digest(std::uint32_t blocks) {
  constexpr std::pair<std::string_view, const std::string_view*> files[] = {
      {"attention.cuh", &cuda_parts::attention},
      {"fast_functions.h", &parts::fast_functions},
      {"half_precision.h", &parts::half_precision},
      {"half_types.h", &parts::half_types},
      {"ptx.cuh", &cuda_parts::ptx},
      {"run_time.cuh", &cuda_parts::run_time},
      {"scalar_operations.h", &parts::scalar_operations},
      {"tiled_products.cuh", &cuda_parts::tiled_products}};
  std::string all;
  for (const auto& [name, text] : files) all += fmt::format("{} {}\n", name, sha256(*text));
  constexpr std::string_view bounds = "__launch_bounds__(";
  const std::size_t begin = cuda_parts::persistent.find(bounds);
  all += cuda_parts::persistent.substr(begin, cuda_parts::persistent.find(')', begin) - begin);
  all += fmt::format(" = {}", blocks);
  return text_digest(all);
}

}  // namespace lemma::backend
