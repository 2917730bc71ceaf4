#include "backend_cuda/execute/prepared_graph.h"

#include <vector>

#include "ir/specialize.h"
#include "search/fold_constants.h"

namespace lemma::backend {

Result<Graph> prepared_graph(const Graph& graph, std::span<const interpreter::NamedTensor> inputs) {
  std::vector<TensorType> types;
  for (const NodeId id : graph.inputs())
    for (const interpreter::NamedTensor& tensor : inputs)
      if (tensor.name == graph.input_name(graph.node(id))) types.push_back(tensor.value.type());
  LEMMA_ASSIGN_OR_RETURN(const DimensionBindings bindings, interpreter::bind_symbols(graph, types));
  LEMMA_ASSIGN_OR_RETURN(const Graph concrete, specialize(graph, bindings, types));
  return fold_constants(concrete, {});
}

}  // namespace lemma::backend
