#include "egraph/to_graph.h"

#include <fmt/format.h>

namespace lemma {

std::vector<ClassId> output_classes(const EGraph& egraph) {
  std::vector<ClassId> result;
  for (const EGraph::Output& output : egraph.outputs()) result.push_back(output.value);
  return result;
}

namespace {

class GraphWriter {
 public:
  GraphWriter(const EGraph& egraph, const Selection& selection)
      : egraph_(egraph),
        node_of_(selection.node_of),
        values_(egraph.id_count(), ValueId::none()),
        tuples_(egraph.id_count()) {
    graph_.set_name(egraph.graph_name());
  }

  Result<Graph> write() {
    // Inputs stay even where nothing needs them.
    std::vector<ClassId> roots = output_classes(egraph_);
    bool all_chosen = true;
    for (const ENodeId input : egraph_.inputs()) {
      const ClassId id = egraph_.find(input.founded());
      if (node_of_[id.v].is_none()) node_of_[id.v] = input;
      all_chosen = all_chosen && node_of_[id.v] == input;
      roots.push_back(id);
    }
    // An input whose value comes from elsewhere keeps its place among the inputs.
    if (!all_chosen)
      for (const ENodeId input : egraph_.inputs()) LEMMA_RETURN_IF_ERROR(add_input(input));
    const auto order = topological_order(egraph_, roots, node_of_);
    if (!order) return internal_error("the selection is not complete or has a cycle");
    for (const ClassId id : *order) LEMMA_RETURN_IF_ERROR(add(id));
    for (const auto& [id, name] : egraph_.names()) {
      const ValueId value = values_[egraph_.find(id).v];
      if (!value.is_none()) graph_.suggest_name(value, name);
    }
    for (const EGraph::Output& output : egraph_.outputs())
      LEMMA_RETURN_IF_ERROR(graph_.add_output(output.name, values_[egraph_.find(output.value).v]));
    return std::move(graph_);
  }

 private:
  Result<void> add(ClassId id) {
    const ENodeId chosen = node_of_[id.v];
    const ENode& node = egraph_.node(chosen);
    if (node.kind == ENodeKind::projection) {
      const NodeId tuple = tuples_[egraph_.children(chosen)[0].v];
      values_[id.v] = graph_.node(tuple).output(node.payload);
      return {};
    }
    std::vector<ValueId> operands;
    for (const ClassId child : egraph_.children(chosen))
      operands.push_back(child.is_none() ? ValueId::none() : values_[child.v]);
    switch (node.kind) {
      case ENodeKind::input: return values_[id.v].is_none() ? add_input(chosen) : Result<void>();
      case ENodeKind::constant:
        values_[id.v] = graph_.add_constant(egraph_.constant(node));
        return {};
      case ENodeKind::opaque:
        enter(id, graph_.add_opaque(egraph_.opaque(node), std::move(operands), egraph_.types(id)));
        return {};
      case ENodeKind::operation: {
        LEMMA_ASSIGN_OR_RETURN(const NodeId added,
                               graph_.add_operation(node.op, std::move(operands),
                                                    egraph_.attributes(node), node.output_count));
        if (graph_.output_types(graph_.node(added)) != egraph_.types(id))
          return internal_error(fmt::format("node {} has another type in the graph", chosen.v));
        enter(id, added);
        return {};
      }
      case ENodeKind::projection: break;
    }
    return {};
  }

  Result<void> add_input(ENodeId input) {
    const ClassId id = egraph_.find(input.founded());
    LEMMA_ASSIGN_OR_RETURN(
        const ValueId value,
        graph_.add_input(egraph_.input_name(egraph_.node(input)), egraph_.type(id)));
    if (node_of_[id.v] == input) values_[id.v] = value;
    return {};
  }

  void enter(ClassId id, NodeId added) {
    if (graph_.node(added).output_count == 1)
      values_[id.v] = graph_.node(added).output();
    else
      tuples_[id.v] = added;
  }

  const EGraph& egraph_;
  std::vector<ENodeId> node_of_;
  std::vector<ValueId> values_;  // by class
  std::vector<NodeId> tuples_;
  Graph graph_;
};

}  // namespace

Result<Graph> to_graph(const EGraph& egraph, const Selection& selection) {
  return GraphWriter(egraph, selection).write();
}

}  // namespace lemma
