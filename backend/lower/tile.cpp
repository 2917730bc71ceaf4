#include "backend/lower/tile.h"

#include <map>

#include "backend/cases.h"
#include "backend/lower/kernels.h"
#include "backend/lower/operator_kind.h"
#include "backend/lower/stitched_operator.h"
#include "backend/nest_algorithm.h"

namespace lemma::backend {

using lowering::LoweredOutput;
using lowering::TermNumber;

double operation_count(const LoweredOutput& nest) {
  if (const auto algorithm = find_nest_algorithm(nest))
    return lowering::operation_count(nest.graph, nest.root, *algorithm, nest.axes);
  lowering::VariableSet axes = 0;
  double elements = 1;
  for (const lowering::LoopVariable axis : nest.axes) {
    axes |= lowering::set_of(axis);
    elements *= static_cast<double>(nest.graph.extent(axis));
  }
  std::vector<TermNumber> roots = {nest.root};
  if (const auto cases = find_cases(nest)) {
    // All formulas together, each element of the other axes once.
    roots = cases->values;
    elements /= static_cast<double>(cases->values.size());
  }
  return elements * lowering::operations_at_point(nest.graph, roots, axes);
}

double operation_count(const TaskOperator& op) {
  if (op.own) return op.own->operations;
  double operations = 0;
  for (const Phase& phase : op.body.phases) operations += operation_count(phase.nest);
  return operations;
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
