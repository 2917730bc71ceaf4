#include "backend_cuda/lower/tile.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backend_cuda/cases.h"
#include "backend_cuda/lower/kernels.h"
#include "backend_cuda/lower/operator_kind.h"
#include "backend_cuda/lower/stitched_operator.h"
#include "ir/sha256.h"
#include "lowering/merge_axes.h"

namespace lemma::backend {

namespace {

using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

/// The arguments are the buffers that the nest reads, each once, and the result.
Result<TaskOperator> operator_of(Computation computation) {
  TaskOperator op;
  auto nest = lowering::lower_to_long_loops(computation.definition,
                                            computation.definition.outputs()[computation.output],
                                            computation.views, lowering::Domain::native);
  if (!nest)
    return with_context(fmt::format("{} '{}'", computation.description, computation.name),
                        std::move(nest.error()));
  op.name = std::move(computation.name);
  op.description = std::move(computation.description);
  std::vector<std::uint32_t> operands(computation.operands.size(), no_argument);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const BufferNumber buffer = computation.operands[i];
    if (buffer == no_buffer) continue;
    const auto found = std::find(op.arguments.begin(), op.arguments.end(), buffer);
    operands[i] = static_cast<std::uint32_t>(found - op.arguments.begin());
    if (found == op.arguments.end()) op.arguments.push_back(buffer);
  }
  const auto result = static_cast<std::uint32_t>(op.arguments.size());
  op.arguments.push_back(computation.result);
  op.body.phases.push_back({std::move(*nest), std::move(operands), result});
  return op;
}

}  // namespace

double operation_count(const LoweredOutput& nest) {
  lowering::VariableSet axes = 0;
  double elements = 1;
  for (const lowering::LoopVariable axis : nest.axes) {
    axes |= lowering::set_of(axis);
    elements *= static_cast<double>(nest.graph.extent(axis));
  }
  std::vector<bool> is_used(nest.graph.size(), false);
  is_used[nest.root] = true;
  if (const auto cases = find_cases(nest)) {
    // All formulas together, each element of the other axes once.
    is_used[nest.root] = false;
    for (const TermNumber value : cases->values) is_used[value] = true;
    elements /= static_cast<double>(cases->values.size());
  }
  double sum = 0;
  for (TermNumber id = nest.root + 1; id-- > 0;) {
    if (!is_used[id]) continue;
    const Term& term = nest.graph.term(id);
    lowering::VariableSet variables = term.depends;
    for (const TermNumber operand : term.operands) is_used[operand] = true;
    if (is_reduction(term.kind)) variables |= nest.graph.term(term.operands[0]).depends;
    double times = 1;
    for (lowering::LoopVariable v = 0; v < nest.graph.variable_count(); ++v)
      if ((variables & ~axes & lowering::set_of(v)) != 0)
        times *= static_cast<double>(nest.graph.extent(v));
    // A function such as exp takes about as long as twenty additions.
    sum += times * (term.kind == ExpressionKind::function ? 20 : 1);
  }
  return sum * elements;
}

Result<OperatorGraph> tile(ComputationGraph graph, const VirtualDevice& device,
                           const KernelTimes* times) {
  constexpr std::size_t digest_length = 20;
  const std::vector<Group> groups = groups_of(graph);
  const std::vector<bool> is_stored = stored_buffers(graph, groups);
  OperatorGraph result;
  std::map<std::string, OperatorNumber> firsts;  // of each kind
  for (const Group& group : groups) {
    std::vector<std::int64_t> grid;
    auto op = group.members.size() == 1
                  ? operator_of(std::move(graph.computations[group.members[0]]))
                  : stitched_operator(graph, group, is_stored, grid);
    if (!op) return tl::unexpected(std::move(op.error()));
    op->digest = sha256(structure_of(*op, grid, graph.buffers)).substr(0, digest_length);
    const auto number = static_cast<OperatorNumber>(result.operators.size());
    const auto [first, is_new] = firsts.emplace(op->digest, number);
    if (is_new) {
      op->kind = static_cast<std::uint32_t>(firsts.size() - 1);
      add_kernels(*op, grid, graph.buffers, device, times);
    } else {
      op->kind = result.operators[first->second].kind;
      op->kernels = result.operators[first->second].kernels;
    }
    result.operators.push_back(std::move(*op));
  }
  remove_unstored(graph, is_stored, result.operators);
  result.buffers = std::move(graph.buffers);
  result.inputs = std::move(graph.inputs);
  result.outputs = std::move(graph.outputs);
  return result;
}

}  // namespace lemma::backend
