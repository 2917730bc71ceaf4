#include "backend_cuda/emit_cuda/cuda_tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/emit/tables_text.h"
#include "backend_cuda/emit_cuda/device_language.h"
#include "backend_cuda/emit_cuda/resident_tables.h"
#include "base/shown_text.h"

namespace lemma::backend {

namespace {

constexpr std::uint64_t block_alignment = 256;

std::uint64_t aligned(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Each operator in a line, after what it is.
std::string operators_of(const TaskProgram& program, const std::vector<std::uint32_t>& kernels,
                         const std::vector<std::uint32_t>& with_residents) {
  std::string operators, arguments;
  std::size_t count = 0;
  for (OperatorNumber number = 0; number < program.graph.operators.size(); ++number) {
    const TaskOperator& op = program.graph.operators[number];
    const std::string comment = shown(fmt::format("{}: {} in {} tasks", number, op.description,
                                                  program.kernel(number).task_count()),
                                      ShownIn::comment);
    operators += fmt::format("    // {}\n    {{{}, {}, {}, {}}},\n", comment, kernels[number],
                             with_residents[number], count, op.arguments.size());
    for (const BufferNumber argument : op.arguments) {
      const std::string name = shown(program.graph.buffers[argument].name, ShownIn::comment);
      arguments +=
          fmt::format("    {},  // of {}: {}\n",
                      location_text(program, program.graph.buffers[argument]), number, name);
    }
    count += op.arguments.size();
  }
  return fmt::format(
      "__device__ const Location arguments[] = {{\n{}}};\n\n__device__ const Operator operators[] "
      "= "
      "{{\n{}}};\n\n",
      arguments.empty() ? "    {0, 0}\n" : arguments,
      operators.empty() ? "    {0, 0, 0, 0}\n" : operators);
}

std::string number_text(std::string_view name, std::uint64_t value) {
  return fmt::format("constexpr std::size_t {} = {};\n", name, value);
}

}  // namespace

std::uint64_t address_bytes(Programs programs) {
  std::uint64_t most = 0;
  for (const TaskProgram& program : programs) most = std::max(most, address_bytes(program.graph));
  return most;
}

CudaMemory cuda_memory(Programs programs, const CudaKernels& kernels) {
  std::uint64_t arena = 0;
  for (const TaskProgram& program : programs) arena = std::max(arena, program.arena_bytes);
  CudaMemory memory;
  memory.address_bytes = address_bytes(programs);
  memory.shared_bytes = memory.address_bytes + kernels.shared_bytes;
  for (const TaskProgram& program : programs)
    if (!program.residents.is_empty())
      memory.shared_bytes =
          std::max(memory.shared_bytes, program.residents.offset + program.residents.bytes);
  memory.scratch_offset = aligned(arena, block_alignment);
  memory.state_offset = memory.scratch_offset + programs.front().units.size() *
                                                    aligned(kernels.scratch_bytes, block_alignment);
  return memory;
}

std::string cuda_tables(Programs programs, const CudaKernels& kernels, const CudaMemory& memory,
                        const CudaOptions& options) {
  std::string text =
      "#pragma once\n"
      "// The schedule: which block runs which parts of which operators, and what it waits for.\n\n"
      "#include <cstddef>\n\n#include \"run_time.cuh\"\n\nnamespace {\n\n";
  text += fmt::format("constexpr unsigned unit_count = {}, block_threads = {};\n",
                      programs.front().units.size(), options.block_threads);
  text += architecture_constant(options);
  text += fmt::format("constexpr unsigned blocks_of_multiprocessor = {};  // that are resident\n",
                      options.blocks);
  text += number_text("weight_bytes", programs.front().weight_bytes);
  text +=
      "// Shared memory of a block: addresses of a task's tensors, what its phases hand on, "
      "weights "
      "that are kept.\n";
  text += number_text("address_bytes", memory.address_bytes);
  text += number_text("shared_bytes", memory.shared_bytes);
  text += "// The arena: tensors, what has no room in the shared memory of a block, counters.\n";
  text += number_text("scratch_offset", memory.scratch_offset);
  text += number_text("scratch_bytes_per_block", aligned(kernels.scratch_bytes, block_alignment));
  text += number_text("state_offset", memory.state_offset);
  text += fmt::format("constexpr bool keeps_weights = {};\n",
                      std::any_of(programs.begin(), programs.end(), [](const TaskProgram& program) {
                        return !program.residents.is_empty();
                      }));
  text +=
      fmt::format("constexpr char weight_digest[] = {};\n\n", quoted_text(weight_digest(programs)));
  std::string schedules, counters;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    text += in_namespace(
        i, "// A memory (0 the arena, 1 the weights, then inputs and outputs) and an offset.\n" +
               operators_of(programs[i], kernels.by_operator[i], kernels.with_residents[i]) +
               "// A counter, and how far it must have grown in this run.\n" +
               steps_text(programs[i], "__device__ const") + residents_text(programs[i]));
    schedules += fmt::format(
        "    {{size_{0}::arguments, size_{0}::operators, size_{0}::waits, size_{0}::signals,\n"
        "     size_{0}::steps, size_{0}::first_step, size_{0}::signals_per_run,\n"
        "     size_{0}::resident_parts, size_{0}::first_part, size_{0}::resident_reads, "
        "size_{0}::first_read}},\n",
        i);
    counters += fmt::format("{}{}", i == 0 ? "" : ", ", programs[i].counters);
  }
  text += fmt::format("constexpr unsigned counter_counts[] = {{{}}};  // by size\n\n", counters);
  return text +
         fmt::format("__device__ const Schedule schedules[] = {{\n{}}};\n\n}}  // namespace\n",
                     schedules);
}

}  // namespace lemma::backend
