#include "backend_cuda/emit_cuda/cuda_kernels.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "backend/blocks/resident_reads.h"
#include "backend/emit/kernel_text.h"
#include "backend/emit/print.h"
#include "backend_cuda/emit_cuda/cuda_phases.h"
#include "backend_cuda/emit_cuda/spread_nest.h"
#include "backend_cuda/emit_cuda/tiled_nest.h"
#include "base/shown_text.h"

namespace lemma::backend {

namespace {

/// The tensors of a kernel with one phase, and its loop. `product`: that is computed in tiles, or none.
Result<source::Statements> single_body(const TaskOperator& op, const std::vector<LoopBounds>& grid,
                                       const std::optional<TiledProduct>& product,
                                       const std::set<std::uint32_t>& residents,
                                       const TileLimits& limits) {
  const Phase& phase = op.body.phases.front();
  source::Builder body;
  LEMMA_ASSIGN_OR_RETURN(source::Statements tensors, declarations_of_tensors(phase, residents));
  body.add(std::move(tensors));
  LEMMA_ASSIGN_OR_RETURN(
      source::Statements loop,
      product ? emit_tiled_nest(phase.nest, *product, grid, inputs_in_block(op, phase, residents),
                                true, static_cast<std::uint32_t>(limits.block_threads))
              : emit_spread_nest(phase.nest, grid, inputs_in_block(op, phase, residents), true,
                                 limits.block_threads, limits.warp_lanes));
  body.add(std::move(loop));
  return body.take();
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
      const TaskOperator& task_operator = program.graph.operators[op];
      auto added = add(program, op);
      if (!added)
        return with_context(fmt::format("{} '{}'", task_operator.description, task_operator.name),
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
    source::Builder statements;
    source::Statements bounds;
    const std::vector<LoopBounds> grid = part_bounds(kernel, op.body.phases.front().nest, bounds);
    statements.add(std::move(bounds));
    LEMMA_ASSIGN_OR_RETURN(Body body, body_of(op, kernel, grid, residents));
    statements.add(std::move(body.statements));
    const bool is_shared = body.slots <= shared_bytes_;
    std::uint64_t& most = is_shared ? result_.shared_bytes : result_.scratch_bytes;
    most = std::max(most, body.slots);
    if (is_shared) program_bytes_ = std::max(program_bytes_, body.slots);
    source::Function function = {{{"void* const*", "arguments", false, true},
                                  {"std::int64_t", "part", false, true},
                                  {"Threads", "threads"}},
                                 statements.take()};
    if (body.slots > 0) function.parameters.push_back({"unsigned char*", "slots"});
    const std::string text = source::print_unnamed(function, source::Dialect::cuda);
    const auto next = static_cast<std::uint32_t>(calls_.size());
    // The same text may be called with slots in shared memory and elsewhere.
    const auto [at, is_new] = numbers_.try_emplace({text, is_shared}, next);
    if (is_new) {
      const std::string name = kernel_name(next);
      functions_ += fmt::format(
          "// {}\n{}{}{}\n", comment_of(program, op, kernel),
          source::function_head(function, source::Linkage::kernel, source::Dialect::cuda), name,
          text);
      source::Call call = {name, {"arguments", "part", "threads"}};
      if (body.slots > 0) call.arguments.emplace_back(is_shared ? "shared_slots" : "scratch");
      calls_.push_back(std::move(call));
      kernels_.push_back({text, body.tiles, {}});
    }
    kernels_[at->second].operators.push_back(caller);
    for (const std::size_t phase : body.phases) phase_operators_[phase].push_back(caller);
    return at->second;
  }

  struct Body {
    source::Statements statements;
    std::uint64_t slots = 0;               // bytes, those of tiles included
    std::string tiles = {};                // of a kernel with one phase: by name, or empty
    std::vector<std::size_t> phases = {};  // numbers of functions that it calls
  };
  Result<Body> body_of(const TaskOperator& op, const Kernel& kernel,
                       const std::vector<LoopBounds>& grid,
                       const std::set<std::uint32_t>& residents) {
    if (op.is_stitched()) {
      LEMMA_ASSIGN_OR_RETURN(CudaPhases::Body body, phases_.emit_body(op, kernel, grid, residents));
      return Body{std::move(body.statements),
                  (body.is_in_tiles ? 0 : slots_of_block(op, kernel, limits_.tiles.warps())) +
                      body.tile_bytes,
                  "", std::move(body.functions)};
    }
    const auto product =
        residents.empty() ? tiled_phase(op, kernel, op.body.phases.front(), limits_) : std::nullopt;
    LEMMA_ASSIGN_OR_RETURN(source::Statements statements,
                           single_body(op, grid, product, residents, limits_.tiles));
    if (!product) return Body{std::move(statements)};
    return Body{
        std::move(statements), product->tiles.shared_bytes,
        tile_name(product->tiles, product->left.access, product->right.access, block_threads_)};
  }

  std::string dispatch() const {
    source::Switch choice = {"kernel", {}};
    for (std::size_t i = 0; i < calls_.size(); ++i)
      choice.cases.push_back({fmt::format("{}", i), {calls_[i]}});
    const source::Function function = {{{"std::uint32_t", "kernel"},
                                        {"void* const*", "arguments", false, true},
                                        {"std::int64_t", "part", false, true},
                                        {"Threads", "threads", false, true},
                                        {"unsigned char*", "shared_slots", false, true},
                                        {"unsigned char*", "scratch", false, true}},
                                       {std::move(choice)}};
    return "// All threads of the block call it. What tasks keep for themselves is in shared "
           "memory "
           "where that has room.\n" +
           source::print(function, source::Linkage::dispatch, "run_kernel", source::Dialect::cuda) +
           "\n";
  }

  std::uint32_t block_threads_;
  std::uint64_t shared_bytes_,
      program_bytes_ = 0;  // of a block, and those that kernels of the last program take
  ProductLimits limits_;
  CudaPhases phases_;
  CudaKernels result_;
  /// The numbers of functions, by text without the name, and whether slots are in shared memory.
  std::map<std::pair<std::string, bool>, std::uint32_t> numbers_;
  std::string functions_;
  std::vector<source::Call> calls_;    // by number
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
