#include "backend/execute/prepared_graph.h"

#include <vector>

#include "ir/expand.h"
#include "ir/specialize.h"
#include "search/fold_constants.h"

namespace lemma::backend {

namespace {

Result<Graph> with_sizes(const Graph& graph, std::span<const interpreter::NamedTensor> inputs) {
  std::vector<TensorType> types;
  for (const NodeId id : graph.inputs())
    for (const interpreter::NamedTensor& tensor : inputs)
      if (tensor.name == graph.input_name(graph.node(id))) types.push_back(tensor.value.type());
  LEMMA_ASSIGN_OR_RETURN(const DimensionBindings bindings, interpreter::bind_symbols(graph, types));
  return specialize(graph, bindings, types);
}

}  // namespace

Result<Graph> prepared_graph(const Graph& graph, std::span<const interpreter::NamedTensor> inputs) {
  LEMMA_ASSIGN_OR_RETURN(const Graph concrete, with_sizes(graph, inputs));
  return fold_constants(concrete, {});
}

Result<Graph> program_graph(const Graph& graph, std::span<const interpreter::NamedTensor> inputs) {
  LEMMA_ASSIGN_OR_RETURN(const Graph concrete, with_sizes(graph, inputs));
  LEMMA_ASSIGN_OR_RETURN(const Graph expanded, expand_composites(concrete));
  return fold_constants(expanded, {});
}

}  // namespace lemma::backend
