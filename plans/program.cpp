#include "plans/program.h"

#include <fmt/format.h>

#include "ir/rebuild.h"

namespace lemma::plans {

Result<Graph> as_one_graph(const Graph& single, const Program& program) {
  Graph result;
  std::vector<ValueId> wholes(single.value_count(), ValueId::none());
  for (const NodeId id : single.inputs()) {
    const Node& node = single.node(id);
    LEMMA_ASSIGN_OR_RETURN(wholes[node.output().v],
                           result.add_input(single.input_name(node), single.type(node.output())));
  }
  std::vector<ValueId> values(program.graph.value_count(), ValueId::none());
  for (const ProgramInput& input : program.inputs) {
    if (is_partial(input.placement))
      return unsupported("an input of a program that has to be added up is not determined by it");
    ValueId& whole = wholes[input.single.v];
    if (whole.is_none()) {
      const Constant* constant = single.constant_of(input.single);
      if (constant == nullptr) return internal_error("a program's input is no input or constant");
      whole = result.add_constant(*constant);
    }
    LEMMA_ASSIGN_OR_RETURN(values[input.value.v],
                           place(result, whole, input.placement, program.mesh));
  }
  for (const NodeId id : program.graph.live_nodes()) {
    const Node& node = program.graph.node(id);
    if (node.kind == NodeKind::input) continue;
    LEMMA_RETURN_IF_ERROR(copy_node(program.graph, node, result, values));
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    const ValueId value = values[program.graph.outputs()[i].value.v];
    LEMMA_ASSIGN_OR_RETURN(const ValueId whole,
                           collect(result, value, program.outputs[i].placement, program.mesh));
    LEMMA_RETURN_IF_ERROR(result.add_output(program.outputs[i].name, whole));
  }
  return result;
}

}  // namespace lemma::plans
