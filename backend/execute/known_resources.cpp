#include "backend/execute/known_resources.h"

#include <optional>

#include <fmt/format.h>

#include "backend/kernel_times.h"
#include "backend_cuda/emit_cuda/cuda_source.h"

namespace lemma::backend {

namespace {

/// Threads of a block that have all registers that a thread can have.
constexpr std::uint32_t threads_with_all_registers = 256;

/// Takes half as many threads, so that each may have twice the registers. What is refused is refused for a number of
/// threads.
bool take_fewer_threads(CudaOptions& options) {
  constexpr std::uint32_t warp = 32;
  if (options.block_threads <= threads_with_all_registers) return false;
  options.block_threads = options.block_threads / 2 / warp * warp;
  options.refused_tiles_of.clear();
  options.refused_cuts_of.clear();
  return true;
}

/// Refuses the tiles of a function, else the cut of an operator that it is for. False: there is no other one.
bool refuse_function(const CudaFunction& function, const TaskOperator& op, const Kernel& kernel,
                     CudaOptions& options) {
  if (!function.tiles.empty())
    return options.refused_tiles_of.emplace(op.digest, function.tiles).second;
  if (op.kernels.size() == 1 && !op.is_stitched()) return false;
  return options.refused_cuts_of.emplace(op.digest, parts_text(kernel)).second;
}

/// A function of several operators, or of several programs, is refused for all of them.
const TaskOperator* refuse_everywhere(const CudaFunction& function, Programs programs,
                                      const CudaOptions& before, CudaOptions& options) {
  for (const auto& [program, number] : function.operators) {
    const TaskOperator& op = programs[program].graph.operators[number];
    const Kernel& kernel = programs[program].kernel(number);
    const bool is_refused_now = options.refused_tiles_of.contains({op.digest, function.tiles}) ||
                                options.refused_cuts_of.contains({op.digest, parts_text(kernel)});
    const bool was_refused = before.refused_tiles_of.contains({op.digest, function.tiles}) ||
                             before.refused_cuts_of.contains({op.digest, parts_text(kernel)});
    if (was_refused) return &op;  // and was chosen all the same
    if (!is_refused_now && !refuse_function(function, op, kernel, options)) return &op;
  }
  return nullptr;
}

}  // namespace

KnownResources::KnownResources(const std::vector<ResourceFacts>& facts, std::uint32_t blocks) {
  const std::string headers = header_digest(blocks);
  for (const ResourceFacts& resource_facts : facts) {
    if (resource_facts.source.headers != headers) continue;
    for (const FunctionResources& function : resource_facts.functions)
      if (function.spilled_bytes > 0 || function.blocks < blocks)
        functions_.emplace(std::pair(resource_facts.source.block_threads, function.digest),
                           function);
  }
}

const FunctionResources* KnownResources::find(const CudaOptions& options,
                                              const std::string& digest) const {
  const auto entry = functions_.find({options.block_threads, digest});
  return entry == functions_.end() ? nullptr : &entry->second;
}

Result<bool> KnownResources::refuse(Programs programs, CudaOptions& options,
                                    VirtualDevice& device) const {
  if (functions_.empty() || programs.empty()) return false;
  LEMMA_ASSIGN_OR_RETURN(const CudaSource source, cuda_source(programs, options));
  const CudaOptions before = options;
  std::optional<std::string> without_choice;
  bool is_bad = false;
  std::string all;
  for (const CudaFunction& function : source.kernels.functions) {
    all += text_digest(function.text);
    const FunctionResources* const known = find(options, text_digest(function.text));
    if (known == nullptr || known->spilled_bytes == 0) continue;
    is_bad = true;
    if (const TaskOperator* const op = refuse_everywhere(function, programs, before, options);
        op != nullptr && !without_choice)
      without_choice = fmt::format("{} '{}': nvcc spills {} bytes of registers", op->description,
                                   op->name, known->spilled_bytes);
  }
  if (const FunctionResources* const kernel = find(options, text_digest(all)); kernel != nullptr) {
    is_bad = true;
    without_choice = fmt::format(
        "the persistent kernel with {} threads of {} registers and {} bytes of shared memory {}",
        options.block_threads, kernel->registers, kernel->shared_bytes,
        kernel->blocks < options.blocks ? "does not fit on a multiprocessor" : "spills registers");
  }
  if (without_choice && !take_fewer_threads(options))
    return unsupported(fmt::format("{}, and there is no other way to compute it", *without_choice));
  if (is_bad && device.multiprocessor) device.multiprocessor->source = options;
  return is_bad;
}

}  // namespace lemma::backend
