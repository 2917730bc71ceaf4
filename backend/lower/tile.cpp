#include "backend/lower/tile.h"

#include <map>

#include "backend/cases.h"
#include "backend/lower/kernels.h"
#include "backend/lower/operator_kind.h"
#include "backend/lower/stitched_operator.h"

namespace lemma::backend {

using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

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
    op->digest = digest_of(*op, grid, graph.buffers);
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
