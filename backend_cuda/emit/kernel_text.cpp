#include "backend_cuda/emit/kernel_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backend_cuda/emit/nest_text.h"
#include "backend_cuda/emit/phase_functions.h"
#include "backend_cuda/emit/source_types.h"
#include "base/shown_text.h"

namespace lemma::backend {

std::vector<LoopBounds> part_bounds(const Kernel& kernel, const lowering::LoweredOutput& nest,
                                    std::string& text) {
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
    text += fmt::format("  const std::int64_t {} = {} * {};\n", first, number, part);
    if (extent % part == 0)
      text += fmt::format("  const std::int64_t {} = {} + {};\n", end, first, part);
    else
      text += fmt::format("  const std::int64_t {0} = {1} + {2} < {3} ? {1} + {2} : {3};\n", end,
                          first, part, extent);
    bounds[axis] = {first, end, std::min(part, extent - (count - 1) * part), extent};
    stride *= count;
  }
  return bounds;
}

namespace {

/// The function without its name.
Result<std::string> function_text_of(const TaskOperator& op, const Kernel& kernel,
                                     PhaseFunctions& phases) {
  std::string text =
      "([[maybe_unused]] void* const* arguments, [[maybe_unused]] std::int64_t part) {\n";
  const Phase& phase = op.body.phases.front();
  const std::vector<LoopBounds> grid = part_bounds(kernel, phase.nest, text);
  if (op.is_stitched()) {
    LEMMA_ASSIGN_OR_RETURN(const std::string body, phases.body_text(op, kernel, grid));
    return text + body + "}\n";
  }
  const std::vector<bool> is_used = used_inputs(phase.nest);
  for (std::uint32_t input = 0; input < is_used.size(); ++input) {
    if (!is_used[input]) continue;
    LEMMA_ASSIGN_OR_RETURN(const std::string type,
                           stored_type(phase.nest.graph.inputs()[input].type));
    text +=
        fmt::format("  const auto* const __restrict {} = static_cast<const {}*>(arguments[{}]);\n",
                    input_name(input), type, phase.operands[input]);
  }
  LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(phase.nest.type));
  text += fmt::format("  auto* const __restrict y = static_cast<{}*>(arguments[{}]);\n", type,
                      phase.result);
  LEMMA_ASSIGN_OR_RETURN(const std::string loops, loops_text(phase.nest, grid));
  return text + loops + "}\n";
}

/// Functions in the order in which they are first needed.
class KernelFunctions {
 public:
  /// The number of the operator's function.
  Result<std::uint32_t> number_of(const TaskOperator& op, const Kernel& kernel) {
    auto text = function_text_of(op, kernel, phases_);
    if (!text)
      return with_context(fmt::format("{} '{}'", op.description, op.name), std::move(text.error()));
    const auto [at, is_new] = functions_.try_emplace(std::move(*text));
    if (is_new) {
      at->second = {static_cast<std::uint32_t>(in_order_.size()),
                    fmt::format("{}: {} tasks, such as for {}", op.description, kernel.task_count(),
                                op.name)};
      in_order_.push_back(&*at);
    } else {
      ++at->second.others;
    }
    return at->second.number;
  }

  std::size_t count() const { return in_order_.size(); }

  std::string text() const {
    std::string result = phases_.text();
    for (const auto* function : in_order_) {
      std::string comment = function->second.comment;
      if (function->second.others != 0)
        comment += fmt::format(" and {} more", function->second.others);
      result += fmt::format("// {}\n{}void {}{}\n", shown(comment, ShownIn::comment),
                            has_guarded_loads(function->first) ? "GUARDED_LOADS " : "",
                            kernel_name(function->second.number), function->first);
    }
    return result;
  }

 private:
  struct Function {
    std::uint32_t number = 0;
    std::string comment;
    std::size_t others = 0;
  };

  PhaseFunctions phases_;
  std::map<std::string, Function> functions_;  // by text without the name
  std::vector<const std::pair<const std::string, Function>*> in_order_;
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
  result.text = functions.text();
  result.count = functions.count();
  return result;
}

}  // namespace lemma::backend
