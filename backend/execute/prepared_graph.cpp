#include "backend/execute/prepared_graph.h"

#include <algorithm>
#include <vector>

#include "ir/expand.h"
#include "ir/specialize.h"
#include "search/fold_constants.h"

namespace lemma::backend {

namespace {

Result<Graph> with_sizes(const Graph& graph, std::span<const interpreter::NamedTensor> inputs) {
  std::vector<TensorType> types;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const auto given = std::find_if(inputs.begin(), inputs.end(), [&](const auto& tensor) {
      return tensor.name == graph.input_name(node);
    });
    types.push_back(given == inputs.end() ? graph.type(node.output()) : given->value.type());
  }
  LEMMA_ASSIGN_OR_RETURN(const DimensionBindings bindings, interpreter::bind_symbols(graph, types));
  return specialize(graph, bindings, types);
}

/// A program would compute weights from how they are stored in each run. It does not, where that is all that they need much
/// more memory for: those of a large model share places of the arena.
FoldOptions folding_of(const Graph& graph) {
  constexpr std::size_t most_bytes = std::size_t{128} << 20U;  // of all constants
  constexpr double integers_to_f64 = 8.5;
  std::size_t bytes = 0;
  for (const NodeId id : graph.live_nodes())
    if (const Node& node = graph.node(id);
        node.kind == NodeKind::constant && !graph.constant(node).is_symbolic())
      bytes += graph.constant(node).bytes().size();
  FoldOptions options;
  options.folds_stored_forms = bytes <= most_bytes;
  if (options.folds_stored_forms) options.growth = integers_to_f64;
  return options;
}

}  // namespace

Result<Graph> prepared_graph(const Graph& graph, std::span<const interpreter::NamedTensor> inputs) {
  LEMMA_ASSIGN_OR_RETURN(const Graph concrete, with_sizes(graph, inputs));
  return fold_constants(concrete, {});
}

Result<Graph> program_graph(const Graph& graph, std::span<const interpreter::NamedTensor> inputs) {
  LEMMA_ASSIGN_OR_RETURN(const Graph concrete, with_sizes(graph, inputs));
  return program_graph(concrete);
}

Result<Graph> program_graph(const Graph& graph) {
  LEMMA_ASSIGN_OR_RETURN(const Graph expanded, expand_but_kernels(graph, "rtask-cpu"));
  return fold_constants(expanded, folding_of(expanded));
}

}  // namespace lemma::backend
