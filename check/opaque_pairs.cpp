#include "check/opaque_pairs.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "frontend_onnx/kept_node.h"
#include "ir/rebuild.h"

namespace lemma {

namespace {

std::string place_of(const OpaqueOperator& op) {
  const std::string domain = op.domain.empty() ? "" : op.domain + ".";
  return fmt::format("{}{} '{}'", domain, op.name, op.label);
}

/// Where a value comes from: an input of the graph or an output of an opaque node; empty for anything else.
std::string source(const Graph& graph, ValueId value) {
  const Node& node = graph.node(graph.producer(value));
  if (node.kind == NodeKind::input) return "input " + graph.input_name(node);
  if (node.kind != NodeKind::opaque) return "";
  return fmt::format("{}#{}", graph.opaque(node).label, graph.output_index(value));
}

/// Tensors of known type are compared where the graphs are cut. Other values only pass from node to node: they are
/// equal if they come from the same place.
bool may_be_compared(const Graph& original, ValueId a, const Graph& other, ValueId b) {
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  const bool first = original.type(a).is_known(), second = other.type(b).is_known();
  if (first && second) return true;
  const std::string from = source(original, a);
  return !from.empty() && from == source(other, b);
}

class Pairing {
 public:
  Pairing(const ContextGraph& original, const ContextGraph& other)
      : with_bodies_{&original.with_bodies, &other.with_bodies},
        graphs_{&original.graph, &other.graph} {}

  OpaquePairs run() {
    for (const int side : {0, 1}) collect(side);
    for (const auto& [label, node] : nodes_[0]) {
      const auto partner = nodes_[1].find(label);
      if (partner == nodes_[1].end())
        alone(0, *node);
      else
        compare(*node, *partner->second);
    }
    for (const auto& [label, node] : nodes_[1])
      if (!nodes_[0].contains(label)) alone(1, *node);
    compare_outputs();
    return std::move(result_);
  }

 private:
  void collect(int side) {
    for (const NodeId id : graphs_[side]->live_nodes()) {
      const Node& node = graphs_[side]->node(id);
      if (node.kind != NodeKind::opaque) continue;
      const OpaqueOperator& op = graphs_[side]->opaque(node);
      if (!nodes_[side].emplace(op.label, &node).second)
        object(fmt::format("two nodes are called {}", place_of(op)));
    }
  }

  bool has_bodies(const OpaqueOperator& op) const {
    return with_bodies_[0]->contains(op.label) || with_bodies_[1]->contains(op.label);
  }

  void object(std::string why) {
    if (result_.objection.empty()) result_.objection = std::move(why);
  }

  void alone(int side, const Node& node) {
    const OpaqueOperator& op = graphs_[side]->opaque(node);
    result_.different.push_back({place_of(op), has_bodies(op)});
    object(
        fmt::format("{} is in the {} only", place_of(op), side == 0 ? "original" : "other file"));
  }

  void compare(const Node& a, const Node& b) {
    const OpaqueOperator &x = graphs_[0]->opaque(a), &y = graphs_[1]->opaque(b);
    if (x.domain != y.domain || x.name != y.name || x.meaning != y.meaning ||
        a.output_count != b.output_count)
      result_.different.push_back({place_of(x), has_bodies(x)});
    if (a.inputs.size() != b.inputs.size() || a.output_count != b.output_count)
      return object(fmt::format("{} has other inputs or outputs", place_of(x)));
    for (std::size_t i = 0; i < a.inputs.size(); ++i)
      if (!may_be_compared(a.inputs[i], b.inputs[i]))
        object(fmt::format("input {} of {} is not a tensor of known type in both files", i,
                           place_of(x)));
    for (std::uint32_t k = 0; k < a.output_count; ++k)
      if (graphs_[0]->type(a.output(k)) != graphs_[1]->type(b.output(k)))
        object(fmt::format("output {} of {} is of another type", k, place_of(x)));
  }

  void compare_outputs() {
    if (graphs_[0]->outputs().size() != graphs_[1]->outputs().size())
      return object("the numbers of outputs differ");
    for (std::size_t i = 0; i < graphs_[0]->outputs().size(); ++i) {
      const GraphOutput &a = graphs_[0]->outputs()[i], &b = graphs_[1]->outputs()[i];
      if (!may_be_compared(a.value, b.value))
        object(fmt::format("output '{}' is not a tensor of known type in both files", a.name));
    }
  }

  bool may_be_compared(ValueId a, ValueId b) const {
    // A type that one of both knows only is a difference of these files.
    if (!a.is_none() && !b.is_none() &&
        graphs_[0]->type(a).is_known() != graphs_[1]->type(b).is_known())
      return false;
    return lemma::may_be_compared(*graphs_[0], a, *graphs_[1], b);
  }

  const std::set<std::string>* with_bodies_[2];
  const Graph* graphs_[2];
  std::map<std::string, const Node*> nodes_[2];  // opaque ones, by label
  OpaquePairs result_;
};

/// Copies a graph node by node.
class ContextCopy {
 public:
  explicit ContextCopy(const OnnxModel& model)
      : model_(model), graph_(model.graph), values_(model.graph.value_count(), ValueId::none()) {}

  Result<ContextGraph> run() {
    copy_.set_name(graph_.name());
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      LEMMA_RETURN_IF_ERROR(node.kind == NodeKind::opaque
                                ? copy_with_context(node)
                                : copy_node(graph_, node, copy_, values_, ValueNames::dropped));
    }
    for (const GraphOutput& output : graph_.outputs())
      LEMMA_RETURN_IF_ERROR(copy_.add_output(output.name, values_[output.value.v]));
    return ContextGraph{std::move(copy_), std::move(with_bodies_)};
  }

 private:
  Result<void> copy_with_context(const Node& node) {
    OpaqueOperator op = graph_.opaque(node);
    LEMMA_ASSIGN_OR_RETURN(const KeptNode kept, KeptNode::read(op, model_.envelope));
    LEMMA_ASSIGN_OR_RETURN(const std::string context, kept.context());
    op.meaning = fmt::format("{}\n{}", op.meaning.empty() ? op.payload : op.meaning, context);
    if (!kept.bodies().empty()) with_bodies_.insert(op.label);
    const NodeId id =
        copy_.add_opaque(std::move(op), operands_in(node, values_), graph_.output_types(node));
    for (std::uint32_t k = 0; k < node.output_count; ++k)
      values_[node.output(k).v] = copy_.node(id).output(k);
    return {};
  }

  const OnnxModel& model_;
  const Graph& graph_;
  Graph copy_;
  std::set<std::string> with_bodies_;
  std::vector<ValueId> values_;
};

}  // namespace

Result<ContextGraph> graph_with_contexts(const OnnxModel& model) {
  return ContextCopy(model).run();
}

std::string changed_opaque_node(const OnnxModel& original, const OnnxModel& result) {
  const auto is_opaque = [](const Graph& graph, NodeId id) {
    return graph.node(id).kind == NodeKind::opaque;
  };
  std::map<std::string, const OpaqueOperator*> before;
  for (const NodeId id : original.graph.live_nodes())
    if (is_opaque(original.graph, id)) {
      const OpaqueOperator& op = original.graph.opaque(original.graph.node(id));
      before.emplace(op.label, &op);
    }
  for (const NodeId id : result.graph.live_nodes()) {
    if (!is_opaque(result.graph, id)) continue;
    const OpaqueOperator& op = result.graph.opaque(result.graph.node(id));
    const auto partner = before.find(op.label);
    if (partner == before.end() ||
        (op.domain == partner->second->domain && op.name == partner->second->name &&
         op.meaning == partner->second->meaning))
      continue;
    const auto kept = KeptNode::read(op, result.envelope);
    if (!kept || kept->bodies().empty()) return place_of(op);
  }
  return "";
}

std::string value_that_is_not_compared(const OnnxModel& original, const OnnxModel& result) {
  std::map<std::string, const Node*> before;
  for (const NodeId id : original.graph.live_nodes())
    if (const Node& node = original.graph.node(id); node.kind == NodeKind::opaque)
      before.emplace(original.graph.opaque(node).label, &node);
  for (const NodeId id : result.graph.live_nodes()) {
    const Node& node = result.graph.node(id);
    if (node.kind != NodeKind::opaque) continue;
    const OpaqueOperator& op = result.graph.opaque(node);
    const auto partner = before.find(op.label);
    const auto kept = KeptNode::read(op, result.envelope);
    if (partner == before.end() || (kept && !kept->bodies().empty())) continue;
    const std::vector<ValueId>& operands = partner->second->inputs;
    if (operands.size() != node.inputs.size()) return place_of(op);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!may_be_compared(original.graph, operands[i], result.graph, node.inputs[i]))
        return fmt::format("input {} of {}", i, place_of(op));
  }
  if (original.graph.outputs().size() != result.graph.outputs().size()) return "an output";
  for (std::size_t i = 0; i < result.graph.outputs().size(); ++i) {
    const GraphOutput &a = original.graph.outputs()[i], &b = result.graph.outputs()[i];
    if (!may_be_compared(original.graph, a.value, result.graph, b.value))
      return fmt::format("output '{}'", b.name);
  }
  return "";
}

OpaquePairs pair_opaque_nodes(const ContextGraph& original, const ContextGraph& other) {
  return Pairing(original, other).run();
}

}  // namespace lemma
