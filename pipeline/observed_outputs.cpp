#include "pipeline/observed_outputs.h"

#include <string>
#include <utility>
#include <vector>

#include "facts/part.h"

namespace lemma {

Result<Graph> with_observer(const Graph& graph, std::span<const char> observed) {
  Graph result = graph;
  std::vector<ValueId> operands;
  std::string name = "observed outputs";
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    if (output.name == name) name += "'";
    if (observed[i] != 0 && graph.type(output.value).is_known()) operands.push_back(output.value);
  }
  if (operands.empty()) return result;
  const OpaqueOperator observer = {"", "Observer", "observed outputs",
                                   "it stands for what is around"};
  const NodeId added =
      result.add_opaque(observer, std::move(operands), {{DataType::boolean, Shape{}}});
  LEMMA_RETURN_IF_ERROR(result.add_output(name, result.node(added).output()));
  return result;
}

Result<Graph> without_observer(const Graph& graph, std::size_t output_count) {
  if (graph.outputs().size() == output_count) return graph;
  return with_first_outputs(graph, output_count);
}

}  // namespace lemma
