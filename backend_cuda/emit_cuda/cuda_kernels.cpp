#include "backend_cuda/emit_cuda/cuda_kernels.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "backend_cuda/blocks/resident_reads.h"
#include "backend_cuda/emit/kernel_text.h"
#include "backend_cuda/emit/source_types.h"
#include "backend_cuda/emit_cuda/cuda_phases.h"
#include "backend_cuda/emit_cuda/spread_nest.h"
#include "backend_cuda/emit_cuda/tiled_text.h"
#include "base/shown_text.h"

namespace lemma::backend {

namespace {

/// The tensors of a kernel with one phase, and its loop. `product`: that is computed in tiles, or none.
Result<std::string> single_body(const TaskOperator& op, const std::vector<LoopBounds>& grid,
                                const std::optional<TiledProduct>& product,
                                const std::set<std::uint32_t>& residents,
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
  LEMMA_ASSIGN_OR_RETURN(
      const std::string loop,
      product ? tiled_nest_text(phase.nest, *product, grid, block_threads, 2)
              : spread_nest_text(phase.nest, grid, inputs_in_block(op, phase, residents),
                                 block_threads, 2));
  return text + loop;
}

/// "Conv | Relu: 8 tasks, such as for relu1 (from x, w)"
std::string comment_of(const TaskProgram& program, const TaskOperator& op, const Kernel& kernel) {
  std::string operands;
  for (const BufferNumber buffer : op.operands())
    operands += (operands.empty() ? "" : ", ") + program.graph.buffers[buffer].name;
  return shown(fmt::format("{}: {} tasks, such as for {} (from {})", op.description,
                           kernel.task_count(), op.name, operands.empty() ? "nothing" : operands),
               ShownIn::comment);
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
    result_.with_residents.emplace_back();
    program_bytes_ = 0;
    for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op) {
      const TaskOperator& one = program.graph.operators[op];
      auto added = add(program, op);
      if (!added)
        return with_context(fmt::format("{} '{}'", one.description, one.name),
                            std::move(added.error()));
    }
    const std::uint64_t addresses = program.device.shared_bytes_per_unit - shared_bytes_;
    if (!program.residents.is_empty() && addresses + program_bytes_ > program.residents.offset)
      return internal_error("kernels take the shared memory of weights that are kept there");
    return {};
  }

  CudaKernels finish() {
    result_.text = phases_.text() + functions_ + dispatch();
    result_.count = calls_.size();
    for (std::size_t i = 0; i < phases_.functions().size(); ++i) {
      const CudaPhases::Function& phase = phases_.functions()[i];
      result_.functions.push_back({phase.text, phase.tiles, phase_operators_[i]});
    }
    for (CudaFunction& kernel : kernels_) result_.functions.push_back(std::move(kernel));
    return std::move(result_);
  }

 private:
  /// The kernels that tasks of the operator run: one, or two where only some of them find their weights in their unit.
  Result<void> add(const TaskProgram& program, OperatorNumber number) {
    const TaskOperator& op = program.graph.operators[number];
    const Kernel& kernel = program.kernel(number);
    std::int64_t with_residents = 0;
    for (std::uint32_t task = 0; task < kernel.task_count(); ++task)
      with_residents += program.has_residents({number, task}) ? 1 : 0;
    std::optional<std::uint32_t> resident, plain;
    if (with_residents > 0) {
      TaskOperator reading = op;
      reading.body = with_resident_reads(op, kernel.residents);
      std::set<std::uint32_t> residents;
      for (const ResidentLayout& layout : kernel.residents) residents.insert(layout.argument);
      LEMMA_ASSIGN_OR_RETURN(resident, add(program, number, reading, residents));
    }
    if (with_residents < kernel.task_count()) {
      LEMMA_ASSIGN_OR_RETURN(plain, add(program, number, op, {}));
    }
    result_.by_operator.back().push_back(plain ? *plain : *resident);
    result_.with_residents.back().push_back(resident ? *resident : *plain);
    return {};
  }

  /// The number of the kernel. `residents`: arguments that it reads from the memory of its block.
  Result<std::uint32_t> add(const TaskProgram& program, OperatorNumber number,
                            const TaskOperator& op, const std::set<std::uint32_t>& residents) {
    const Kernel& kernel = program.kernel(number);
    const std::pair caller(result_.by_operator.size() - 1, number);
    std::string bounds;
    const std::vector<LoopBounds> grid = part_bounds(kernel, op.body.phases.front().nest, bounds);
    LEMMA_ASSIGN_OR_RETURN(const Body body, body_of(op, kernel, grid, residents));
    const bool is_shared = body.slots <= shared_bytes_;
    std::uint64_t& most = is_shared ? result_.shared_bytes : result_.scratch_bytes;
    most = std::max(most, body.slots);
    if (is_shared) program_bytes_ = std::max(program_bytes_, body.slots);
    const std::string text =
        fmt::format(
            "([[maybe_unused]] void* const* arguments, [[maybe_unused]] std::int64_t part, Threads "
            "threads{}) {{\n",
            body.slots > 0 ? ", unsigned char* slots" : "") +
        bounds + body.text + "}\n";
    const auto next = static_cast<std::uint32_t>(calls_.size());
    // The same text may be called with slots in shared memory and elsewhere.
    const auto [at, is_new] = numbers_.try_emplace(text + (is_shared ? "s" : "g"), next);
    if (is_new) {
      functions_ += fmt::format("// {}\n__device__ __noinline__ void kernel_{}{}\n",
                                comment_of(program, op, kernel), next, text);
      calls_.push_back(fmt::format("kernel_{}(arguments, part, threads{})", next,
                                   body.slots == 0 ? ""
                                   : is_shared     ? ", shared_slots"
                                                   : ", scratch"));
      kernels_.push_back({text, body.tiles, {}});
    }
    kernels_[at->second].operators.push_back(caller);
    for (const std::size_t phase : body.phases) phase_operators_[phase].push_back(caller);
    return at->second;
  }

  struct Body {
    std::string text;
    std::uint64_t slots = 0;               // bytes, those of tiles included
    std::string tiles = {};                // of a kernel with one phase: by name, or empty
    std::vector<std::size_t> phases = {};  // numbers of functions that it calls
  };
  Result<Body> body_of(const TaskOperator& op, const Kernel& kernel,
                       const std::vector<LoopBounds>& grid,
                       const std::set<std::uint32_t>& residents) {
    if (op.is_stitched()) {
      LEMMA_ASSIGN_OR_RETURN(CudaPhases::Body body, phases_.body_text(op, kernel, grid, residents));
      return Body{std::move(body.text),
                  slots_of_block(op, kernel, block_threads_) + body.tile_bytes, "",
                  std::move(body.functions)};
    }
    const auto product =
        residents.empty() ? tiled_phase(op, kernel, op.body.phases.front(), limits_) : std::nullopt;
    LEMMA_ASSIGN_OR_RETURN(std::string text,
                           single_body(op, grid, product, residents, block_threads_));
    if (!product) return Body{std::move(text)};
    return Body{
        std::move(text), product->tiles.shared_bytes,
        tile_name(product->tiles, product->left.access, product->right.access, block_threads_)};
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
  std::uint64_t shared_bytes_,
      program_bytes_ = 0;  // of a block, and those that kernels of the last program take
  ProductLimits limits_;
  CudaPhases phases_;
  CudaKernels result_;
  std::map<std::string, std::uint32_t> numbers_;  // by text without the name
  std::string functions_;
  std::vector<std::string> calls_;     // by number
  std::vector<CudaFunction> kernels_;  // the same
  std::map<std::size_t, std::vector<std::pair<std::size_t, OperatorNumber>>>
      phase_operators_;  // by number of the function
};

}  // namespace

Result<CudaKernels> cuda_kernels(Programs programs, const CudaOptions& options,
                                 std::uint64_t shared_bytes) {
  KernelWriter writer(multiprocessor_of(programs, options), shared_bytes);
  for (const TaskProgram& program : programs) LEMMA_RETURN_IF_ERROR(writer.add(program));
  return writer.finish();
}

}  // namespace lemma::backend
