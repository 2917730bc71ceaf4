#include "memory_plan/graphs/run_plan.h"

#include <optional>

#include <fmt/format.h>

namespace lemma::memory_plan {

using interpreter::Tensor;

Result<std::vector<Tensor>> run_plan(const Graph& graph, const GraphProblem& problem,
                                     const Plan& plan, std::span<const Tensor> inputs) {
  std::vector<std::optional<Tensor>> values(graph.value_count());
  for (std::size_t i = 0; i < graph.inputs().size(); ++i)
    values[graph.node(graph.inputs()[i]).output().v] = inputs[i];
  for (const NodeId id : graph.live_nodes())
    if (graph.node(id).kind == NodeKind::constant)
      values[graph.node(id).output().v] = Tensor::of(graph.constant(graph.node(id)));
  for (std::size_t place = 0; place < plan.steps.size(); ++place) {
    const Step& step = plan.steps[place];
    const lemma::Node& node = graph.node(problem.nodes[step.node]);
    std::vector<Tensor> operands;
    for (const ValueId input : node.inputs) {
      if (!input.is_none() && !values[input.v])
        return bad_input(
            fmt::format("step {}: {} reads a value that is not there", place, graph.op(node).name));
      operands.push_back(input.is_none() ? Tensor() : *values[input.v]);
    }
    const std::vector<TensorType> types = graph.input_types(node);
    LEMMA_ASSIGN_OR_RETURN(
        std::vector<Tensor> results,
        interpreter::evaluate(graph.op(node), {types, node.attributes, node.output_count},
                              operands));
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      values[node.output(i).v] = std::move(results[i]);
    for (const NodeNumber freed : step.freed) {
      const lemma::Node& gone = graph.node(problem.nodes[freed]);
      for (std::uint32_t i = 0; i < gone.output_count; ++i) values[gone.output(i).v].reset();
    }
  }
  std::vector<Tensor> outputs;
  for (const GraphOutput& output : graph.outputs()) {
    if (!values[output.value.v])
      return bad_input(fmt::format("the output '{}' is not there at the end", output.name));
    outputs.push_back(*values[output.value.v]);
  }
  return outputs;
}

}  // namespace lemma::memory_plan
