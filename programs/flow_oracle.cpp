#include "programs/flow_oracle.h"

#include <string>

#include <fmt/format.h>

#include "ir/rebuild.h"
#include "runner/run_graph.h"

namespace lemma {

using interpreter::NamedTensor;
using interpreter::Tensor;

namespace {

constexpr std::uint64_t changed_runs = 2;

/// The graph with its real constants changed by a few units of roundoff.
Result<Graph> with_changed_constants(const Graph& graph, std::uint64_t seed) {
  Graph changed;
  std::vector<ValueId> values(graph.value_count(), ValueId::none());
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::constant) {
      const NamedTensor weight{fmt::format("weight {}", id.v), Tensor::of(graph.constant(node))};
      values[node.output().v] = changed.add_constant(changed_by_rounding(weight, seed).constant());
      continue;
    }
    LEMMA_RETURN_IF_ERROR(copy_node(graph, node, changed, values));
  }
  for (const GraphOutput& output : graph.outputs())
    LEMMA_RETURN_IF_ERROR(changed.add_output(output.name, values[output.value.v]));
  return changed;
}

Result<std::vector<Tensor>> changed_outputs(const OnnxModel& model,
                                            std::span<const NamedTensor> inputs,
                                            const interpreter::RunOptions& options,
                                            std::uint64_t seed) {
  LEMMA_ASSIGN_OR_RETURN(Graph graph, with_changed_constants(model.graph, seed));
  std::vector<NamedTensor> given;
  for (const NamedTensor& input : inputs)
    given.push_back({input.name, changed_by_rounding(input, seed)});
  return run_flow_model({std::move(graph), model.envelope}, given, options);
}

}  // namespace

Result<std::vector<Tensor>> run_flow_model(const OnnxModel& model,
                                           std::span<const NamedTensor> inputs,
                                           const interpreter::RunOptions& options) {
  std::vector<RunTimeValue> values;
  for (const NamedTensor& input : inputs) values.emplace_back(input.value.constant());
  runner::RunOptions running;
  static_cast<interpreter::EvaluationOptions&>(running) = options;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<RunTimeValue> results,
                         runner::run_graph(model.graph, model.envelope, values, running));
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Constant* tensor = results[i].tensor();
    if (tensor == nullptr)
      return unsupported(
          fmt::format("output '{}' is {}", model.graph.outputs()[i].name, text(results[i])));
    outputs.push_back(Tensor::of(*tensor));
  }
  return outputs;
}

std::vector<OutputAllowance> flow_allowances(const OnnxModel& model,
                                             std::span<const NamedTensor> inputs,
                                             std::span<const Tensor> outputs,
                                             const interpreter::RunOptions& options,
                                             std::uint64_t seed) {
  std::vector<std::vector<Tensor>> moved(outputs.size());  // by output
  for (std::uint64_t run = 0; run < changed_runs; ++run) {
    const auto changed = changed_outputs(model, inputs, options, seed + run);
    if (!changed) continue;  // an index may leave its range
    for (std::size_t i = 0; i < outputs.size(); ++i) moved[i].push_back((*changed)[i]);
  }
  const double relative = relative_allowance(narrowest_real_type(model.graph));
  std::vector<OutputAllowance> result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    OutputAllowance& allowed = result.emplace_back();
    const DataType type = outputs[i].data_type();
    static_cast<RoundingAllowance&>(allowed) = allowance_for(type, spread_of(outputs[i], moved[i]));
    if (is_real(type)) allowed.relative = relative;
  }
  return result;
}

}  // namespace lemma
