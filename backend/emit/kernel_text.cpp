#include "backend/emit/kernel_text.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/emit_nest.h"
#include "backend/emit/phase_functions.h"
#include "backend/emit/phase_parameters.h"
#include "backend/emit/print.h"
#include "backend/emit/source_types.h"
#include "base/shown_text.h"

namespace lemma::backend {

std::vector<LoopBounds> part_bounds(const Kernel& kernel, const lowering::LoweredOutput& nest,
                                    source::Statements& statements) {
  std::vector<LoopBounds> bounds = all_of(nest);
  bounds.resize(kernel.extents.size());
  std::int64_t stride = 1;
  for (std::size_t axis = kernel.extents.size(); axis-- > 0;) {
    const std::int64_t extent = kernel.extents[axis], part = kernel.parts[axis];
    const std::int64_t count = (extent + part - 1) / part;
    if (count == 1) continue;
    const std::string first = fmt::format("first{}", axis), end = fmt::format("end{}", axis);
    std::string number = stride == 1 ? "part" : fmt::format("part / {}", stride);
    if (stride * count < kernel.task_count()) number += fmt::format(" % {}", count);
    statements.push_back(
        source::constant("std::int64_t", first, fmt::format("{} * {}", number, part)));
    statements.push_back(source::constant(
        "std::int64_t", end,
        extent % part == 0
            ? fmt::format("{} + {}", first, part)
            : fmt::format("{0} + {1} < {2} ? {0} + {1} : {2}", first, part, extent)));
    bounds[axis] = {first, end, std::min(part, extent - (count - 1) * part), extent,
                    std::gcd(part, extent)};
    stride *= count;
  }
  return bounds;
}

Result<source::Statements> declarations_of_tensors(const Phase& phase,
                                                   const std::set<std::uint32_t>& residents) {
  source::Statements declarations;
  for (const PhaseTensor& tensor : tensors_of(phase)) {
    LEMMA_ASSIGN_OR_RETURN(const std::string type, tensor.element_type());
    declarations.push_back(
        source::TensorDeclaration{.name = tensor.name,
                                  .type = type,
                                  .array = "arguments",
                                  .number = tensor.argument,
                                  .is_read = tensor.is_read,
                                  .is_unaliased = true,
                                  .is_in_memory = !residents.contains(tensor.argument)});
  }
  return declarations;
}

namespace {

/// The function of a kernel of its own: what its statements have in scope, then these.
Result<std::string> own_function(const TaskOperator& op, const Kernel& kernel) {
  const Phase& phase = op.body.phases.front();
  source::Function function;
  const std::vector<LoopBounds> grid = part_bounds(kernel, phase.nest, function.body);
  // A row of one element has no axis of its own; neither has a single row.
  const bool has_rows = op.own->rows > 1;
  function.body.push_back(
      source::constant("std::int64_t", "first_row", has_rows ? grid[0].first : "0"));
  function.body.push_back(
      source::constant("std::int64_t", "end_row", has_rows ? grid[0].end : "1"));
  for (std::uint32_t i = 0; i < phase.operands.size(); ++i) {
    if (phase.operands[i] == no_argument) continue;
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(phase.nest.graph.inputs()[i].type));
    function.body.push_back(source::TensorDeclaration{.name = fmt::format("x{}", i),
                                                      .type = type,
                                                      .array = "arguments",
                                                      .number = phase.operands[i],
                                                      .is_read = true,
                                                      .is_unaliased = true,
                                                      .may_be_unused = true});
  }
  LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(phase.nest.type));
  function.body.push_back(source::TensorDeclaration{.name = "y",
                                                    .type = type,
                                                    .array = "arguments",
                                                    .number = phase.result,
                                                    .is_unaliased = true});
  std::string text = "(void* const* arguments, [[maybe_unused]] std::int64_t part) {\n" +
                     source::print(function.body, source::Dialect::cpp, 1);
  for (const std::string_view name : {"first_row", "end_row"})
    text += fmt::format("  (void){};\n", name);
  if (op.own->scratch_bytes > 0)
    text += fmt::format("  alignas(64) static thread_local std::byte scratch[{}];\n",
                        op.own->scratch_bytes);
  return text + op.own->source + (op.own->source.ends_with("\n") ? "}\n" : "\n}\n");
}

Result<source::Function> function_of(const TaskOperator& op, const Kernel& kernel,
                                     PhaseFunctions& phases) {
  source::Function function = {
      {{"void* const*", "arguments", false, true}, {"std::int64_t", "part", false, true}}, {}};
  source::Builder body;
  const Phase& phase = op.body.phases.front();
  source::Statements bounds;
  const std::vector<LoopBounds> grid = part_bounds(kernel, phase.nest, bounds);
  body.add(std::move(bounds));
  if (op.is_stitched()) {
    LEMMA_ASSIGN_OR_RETURN(source::Statements calls, phases.emit_body(op, kernel, grid));
    body.add(std::move(calls));
  } else {
    LEMMA_ASSIGN_OR_RETURN(source::Statements tensors, declarations_of_tensors(phase, {}));
    body.add(std::move(tensors));
    LEMMA_ASSIGN_OR_RETURN(source::Statements loops, emit_loops(phase.nest, grid, phase.schedule));
    body.add(std::move(loops));
  }
  function.body = body.take();
  return function;
}

/// Functions in the order in which they are first needed.
class KernelFunctions {
 public:
  /// The number of the operator's function.
  Result<std::uint32_t> number_of(const TaskOperator& op, const Kernel& kernel) {
    const auto function = text_of(op, kernel);
    std::set<std::size_t> called = phases_.take_called();
    if (!function)
      return with_context(fmt::format("{} '{}'", op.description, op.name), function.error());
    const auto [at, is_new] = functions_.try_emplace(function->text);
    if (is_new) {
      at->second = {
          static_cast<std::uint32_t>(in_order_.size()), function->head,
          fmt::format("{}: {} tasks, such as for {}", op.description, kernel.task_count(), op.name),
          0, std::move(called)};
      in_order_.push_back(&*at);
    } else {
      ++at->second.others;
    }
    return at->second.number;
  }

  std::vector<KernelFunction> take() && {
    std::vector<KernelFunction> result;
    for (auto* function : in_order_) {
      Function& of_text = function->second;
      std::string comment = of_text.comment;
      if (of_text.others != 0) comment += fmt::format(" and {} more", of_text.others);
      const std::string name = kernel_name(of_text.number);
      result.push_back({fmt::format("// {}\nvoid {}(void* const* arguments, std::int64_t part)",
                                    shown(comment, ShownIn::comment), name),
                        of_text.head + name + function->first, std::move(of_text.phases)});
    }
    return result;
  }

  const std::vector<std::string>& phases() const { return phases_.texts(); }

 private:
  /// What stands before a function's name and behind it.
  struct FunctionText {
    std::string head, text;
  };
  Result<FunctionText> text_of(const TaskOperator& op, const Kernel& kernel) {
    if (op.own) {
      LEMMA_ASSIGN_OR_RETURN(std::string text, own_function(op, kernel));
      return FunctionText{"void ", std::move(text)};
    }
    LEMMA_ASSIGN_OR_RETURN(const source::Function function, function_of(op, kernel, phases_));
    return FunctionText{
        source::function_head(function, source::Linkage::kernel, source::Dialect::cpp),
        source::print_unnamed(function, source::Dialect::cpp)};
  }

  struct Function {
    std::uint32_t number = 0;
    std::string head, comment;
    std::size_t others = 0;
    std::set<std::size_t> phases;
  };

  PhaseFunctions phases_;
  std::map<std::string, Function> functions_;  // by text without the name
  std::vector<std::pair<const std::string, Function>*> in_order_;
};

}  // namespace

std::string kernel_name(std::uint32_t number) { return fmt::format("kernel_{}", number); }

Result<KernelTexts> kernel_texts(std::span<const TaskProgram> programs) {
  KernelTexts result;
  KernelFunctions functions;
  for (const TaskProgram& program : programs) {
    std::vector<std::uint32_t>& numbers = result.by_operator.emplace_back();
    for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op) {
      LEMMA_ASSIGN_OR_RETURN(const std::uint32_t number,
                             functions.number_of(program.graph.operators[op], program.kernel(op)));
      numbers.push_back(number);
    }
  }
  result.phases = functions.phases();
  result.functions = std::move(functions).take();
  return result;
}

}  // namespace lemma::backend
