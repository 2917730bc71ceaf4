#include "backend_cuda/emit_cuda/cuda_kernels.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backend_cuda/emit/kernel_text.h"
#include "backend_cuda/emit/source_types.h"
#include "backend_cuda/emit_cuda/cuda_phases.h"
#include "backend_cuda/emit_cuda/spread_nest.h"
#include "backend_cuda/emit_cuda/tiled_text.h"

namespace lemma::backend {

namespace {

/// The tensors of a kernel with one phase, and its loop. `product`: that is computed in tiles, or none.
Result<std::string> single_body(const TaskOperator& op, const std::vector<LoopBounds>& grid,
                                const std::optional<TiledProduct>& product,
                                std::uint32_t block_threads) {
  const Phase& phase = op.body.phases.front();
  std::string text;
  const std::vector<bool> is_used = used_inputs(phase.nest);
  for (std::uint32_t input = 0; input < is_used.size(); ++input) {
    if (!is_used[input]) continue;
    LEMMA_ASSIGN_OR_RETURN(const std::string type,
                           stored_type(phase.nest.graph.inputs()[input].type));
    text += fmt::format("  const auto* const {} = static_cast<const {}*>(arguments[{}]);\n",
                        input_name(input), type, phase.operands[input]);
  }
  LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(phase.nest.type));
  text += fmt::format("  auto* const y = static_cast<{}*>(arguments[{}]);\n", type, phase.result);
  LEMMA_ASSIGN_OR_RETURN(const std::string loop,
                         product ? tiled_nest_text(phase.nest, *product, grid, block_threads, 2)
                                 : spread_nest_text(phase.nest, grid, block_threads, 2));
  return text + loop;
}

/// In a comment of one line.
std::string plain(std::string text) {
  for (char& each : text)
    if (static_cast<unsigned char>(each) < ' ' || each == '\\') each = '_';
  return text;
}

/// "Conv | Relu: 8 tasks, such as for relu1 (from x, w)"
std::string comment_of(const TaskProgram& program, const TaskOperator& op, const Kernel& kernel) {
  std::string operands;
  for (const BufferNumber buffer : op.operands())
    operands += (operands.empty() ? "" : ", ") + program.graph.buffers[buffer].name;
  return plain(fmt::format("{}: {} tasks, such as for {} (from {})", op.description,
                           kernel.task_count(), op.name, operands.empty() ? "nothing" : operands));
}

/// The multiprocessor that the source is for; what it computes at a time is that of the device, where it is described.
Multiprocessor multiprocessor_of(Programs programs, const CudaOptions& options) {
  Multiprocessor unit = programs.front().device.multiprocessor.value_or(Multiprocessor{});
  unit.source = options;
  return unit;
}

class KernelWriter {
 public:
  KernelWriter(const Multiprocessor& unit, std::uint64_t shared_bytes)
      : block_threads_(unit.source.block_threads),
        shared_bytes_(shared_bytes),
        limits_(product_limits(unit, shared_bytes)),
        phases_(limits_) {}

  Result<void> add(const TaskProgram& program) {
    result_.by_operator.emplace_back();
    for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op) {
      const TaskOperator& one = program.graph.operators[op];
      auto added = add(program, one, program.kernel(op));
      if (!added)
        return with_context(fmt::format("{} '{}'", one.description, one.name),
                            std::move(added.error()));
    }
    return {};
  }

  CudaKernels finish() {
    result_.text = phases_.text() + functions_ + dispatch();
    result_.count = calls_.size();
    return std::move(result_);
  }

 private:
  Result<void> add(const TaskProgram& program, const TaskOperator& op, const Kernel& kernel) {
    std::string bounds;
    const std::vector<LoopBounds> grid = part_bounds(kernel, op.body.phases.front().nest, bounds);
    LEMMA_ASSIGN_OR_RETURN(const Body body, body_of(op, kernel, grid));
    const bool is_shared = body.slots <= shared_bytes_;
    std::uint64_t& most = is_shared ? result_.shared_bytes : result_.scratch_bytes;
    most = std::max(most, body.slots);
    const std::string text =
        fmt::format(
            "([[maybe_unused]] void* const* arguments, [[maybe_unused]] std::int64_t part, Threads "
            "threads{}) {{\n",
            body.slots > 0 ? ", unsigned char* slots" : "") +
        bounds + body.text + "}\n";
    const auto number = static_cast<std::uint32_t>(calls_.size());
    // The same text may be called with slots in shared memory and elsewhere.
    const auto [at, is_new] = numbers_.try_emplace(text + (is_shared ? "s" : "g"), number);
    if (is_new) {
      functions_ += fmt::format("// {}\n__device__ __noinline__ void kernel_{}{}\n",
                                comment_of(program, op, kernel), number, text);
      calls_.push_back(fmt::format("kernel_{}(arguments, part, threads{})", number,
                                   body.slots == 0 ? ""
                                   : is_shared     ? ", shared_slots"
                                                   : ", scratch"));
    }
    result_.by_operator.back().push_back(at->second);
    return {};
  }

  struct Body {
    std::string text;
    std::uint64_t slots = 0;  // bytes, those of tiles included
  };
  Result<Body> body_of(const TaskOperator& op, const Kernel& kernel,
                       const std::vector<LoopBounds>& grid) {
    if (op.is_stitched()) {
      LEMMA_ASSIGN_OR_RETURN(CudaPhases::Body body, phases_.body_text(op, kernel, grid));
      return Body{std::move(body.text),
                  slots_of_block(op, kernel, block_threads_) + body.tile_bytes};
    }
    const auto product = tiled_phase(op, kernel, op.body.phases.front(), limits_);
    LEMMA_ASSIGN_OR_RETURN(std::string text, single_body(op, grid, product, block_threads_));
    return Body{std::move(text), product ? product->tiles.shared_bytes : 0};
  }

  std::string dispatch() const {
    std::string text =
        "// All threads of the block call it. What tasks keep for themselves is in shared memory "
        "where that has room.\n"
        "__device__ inline void run_kernel(std::uint32_t kernel, [[maybe_unused]] void* const* "
        "arguments,\n"
        "                                  [[maybe_unused]] std::int64_t part, [[maybe_unused]] "
        "Threads threads,\n"
        "                                  [[maybe_unused]] unsigned char* shared_slots,\n"
        "                                  [[maybe_unused]] unsigned char* scratch) {\n"
        "  switch (kernel) {\n";
    for (std::size_t i = 0; i < calls_.size(); ++i)
      text += fmt::format("    case {}: return {};\n", i, calls_[i]);
    return text + "    default: return;\n  }\n}\n\n";
  }

  std::uint32_t block_threads_;
  std::uint64_t shared_bytes_;
  ProductLimits limits_;
  CudaPhases phases_;
  CudaKernels result_;
  std::map<std::string, std::uint32_t> numbers_;  // by text without the name
  std::string functions_;
  std::vector<std::string> calls_;  // by number
};

}  // namespace

Result<CudaKernels> cuda_kernels(Programs programs, const CudaOptions& options,
                                 std::uint64_t shared_bytes) {
  KernelWriter writer(multiprocessor_of(programs, options), shared_bytes);
  for (const TaskProgram& program : programs) LEMMA_RETURN_IF_ERROR(writer.add(program));
  return writer.finish();
}

}  // namespace lemma::backend
