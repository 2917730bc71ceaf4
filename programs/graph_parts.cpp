#include "programs/graph_parts.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "ir/rebuild.h"

namespace lemma {

namespace {

constexpr std::uint32_t no_level = 0xffffffffU;

bool is_computed(const Node& node) {
  return node.kind == NodeKind::operation || node.kind == NodeKind::opaque;
}

/// Levels by node; those of programs are even. Inputs and constants have none.
std::vector<std::uint32_t> levels_of(const Graph& graph, const std::set<NodeId>& in_runtime) {
  std::vector<std::uint32_t> levels(graph.node_count(), no_level);
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (!is_computed(node)) continue;
    std::uint32_t level = in_runtime.contains(id) ? 1 : 0;
    for (const ValueId input : node.inputs) {
      if (input.is_none()) continue;
      const std::uint32_t before = levels[graph.producer(input).v];
      if (before == no_level) continue;
      level = std::max(level, before + (before % 2 == level % 2 ? 0 : 1));
    }
    levels[id.v] = level;
  }
  return levels;
}

/// Whether a value can be handed from part to part.
bool can_pass(const TensorType& type) { return is_computable(type.data_type); }

/// Adds what has to run in the runtime so that a value that cannot be handed on stays within a part. Whether there was
/// anything.
bool join_levels(const Graph& graph, const std::vector<std::uint32_t>& levels,
                 std::set<NodeId>& in_runtime) {
  std::set<std::uint32_t> joined;  // levels between those that such a value connects
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (!is_computed(node)) continue;
    for (const ValueId input : node.inputs) {
      if (input.is_none() || can_pass(graph.type(input))) continue;
      const std::uint32_t from = levels[graph.producer(input).v];
      if (from == no_level) continue;
      for (std::uint32_t level = from + 1; level < levels[id.v]; ++level) joined.insert(level);
    }
  }
  const std::size_t before = in_runtime.size();
  for (const NodeId id : graph.live_nodes())
    if (joined.contains(levels[id.v])) in_runtime.insert(id);
  return in_runtime.size() != before;
}

/// Builds the graphs of parts.
class Cutter {
 public:
  Cutter(const Graph& graph, std::vector<std::uint32_t> levels)
      : graph_(graph), levels_(std::move(levels)) {
    for (const NodeId id : graph.inputs()) taken_.insert(graph.input_name(graph.node(id)));
  }

  Result<PartedGraph> cut() {
    number_parts();
    for (const NodeId id : graph_.live_nodes())
      if (levels_[id.v] != no_level) LEMMA_RETURN_IF_ERROR(add_node(id));
    for (const GraphOutput& output : graph_.outputs()) {
      LEMMA_ASSIGN_OR_RETURN(std::string value, output_value(output.value));
      result_.outputs.push_back({output.name, std::move(value)});
    }
    for (std::size_t part = 0; part < result_.parts.size(); ++part)
      for (const ValueId value : leaving_[part])
        LEMMA_RETURN_IF_ERROR(
            result_.parts[part].graph.add_output(name_of(value), copies_[part].at(value)));
    return std::move(result_);
  }

 private:
  void number_parts() {
    for (const std::uint32_t level : levels_)
      if (level != no_level) part_of_level_.emplace(level, 0);
    if (part_of_level_.empty()) part_of_level_.emplace(0, 0);  // outputs may be constants
    for (auto& [level, part] : part_of_level_) {
      part = result_.parts.size();
      GraphPart& added = result_.parts.emplace_back();
      added.is_program = level % 2 == 0;
      added.graph.set_name(graph_.name());
    }
    copies_.resize(result_.parts.size());
    leaving_.resize(result_.parts.size());
  }

  std::size_t part_of(NodeId id) const { return part_of_level_.at(levels_[id.v]); }

  const std::string& name_of(ValueId value) {
    std::string& name = names_[value];
    if (!name.empty()) return name;
    const Node& producer = graph_.node(graph_.producer(value));
    if (producer.kind == NodeKind::input) return name = graph_.input_name(producer);
    name = graph_.suggested_name(value);
    while (name.empty() || !taken_.insert(name).second) name += fmt::format("value_{}", value.v);
    return name;
  }

  /// What stands for a value of the graph in a part: the node's own, a copy of a constant, or an input.
  Result<ValueId> value_in(std::size_t part, ValueId value) {
    auto& copies = copies_[part];
    if (const auto entry = copies.find(value); entry != copies.end()) return entry->second;
    Graph& target = result_.parts[part].graph;
    const NodeId id = graph_.producer(value);
    const Node& producer = graph_.node(id);
    ValueId copy = ValueId::none();
    if (producer.kind == NodeKind::constant) {
      copy = target.add_constant(graph_.constant(producer));
      target.suggest_name(copy, graph_.suggested_name(value));
    } else {
      LEMMA_ASSIGN_OR_RETURN(copy, target.add_input(name_of(value), graph_.type(value)));
      if (producer.kind != NodeKind::input) leave(part_of(id), value);
    }
    copies.emplace(value, copy);
    return copy;
  }

  Result<void> add_node(NodeId id) {
    const Node& node = graph_.node(id);
    const std::size_t part = part_of(id);
    std::vector<ValueId> operands;
    for (const ValueId input : node.inputs) {
      operands.push_back(input);
      if (!input.is_none()) {
        LEMMA_ASSIGN_OR_RETURN(operands.back(), value_in(part, input));
      }
    }
    Graph& target = result_.parts[part].graph;
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                           add_copy(target, graph_, node, std::move(operands)));
    for (std::uint32_t k = 0; k < node.output_count; ++k) {
      copies_[part].emplace(node.output(k), outputs[k]);
      target.suggest_name(outputs[k], graph_.suggested_name(node.output(k)));
    }
    result_.parts[part].nodes.push_back(id);
    return {};
  }

  void leave(std::size_t part, ValueId value) {
    std::vector<ValueId>& values = leaving_[part];
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }

  /// The name of the value of an output; a constant leaves a part, too.
  Result<std::string> output_value(ValueId value) {
    const NodeId id = graph_.producer(value);
    switch (graph_.node(id).kind) {
      case NodeKind::input: break;
      case NodeKind::constant: {
        const auto program = std::find_if(result_.parts.begin(), result_.parts.end(),
                                          [](const GraphPart& part) { return part.is_program; });
        const std::size_t part = program == result_.parts.end()
                                     ? 0
                                     : static_cast<std::size_t>(program - result_.parts.begin());
        LEMMA_RETURN_IF_ERROR(value_in(part, value));
        leave(part, value);
        break;
      }
      case NodeKind::operation:
      case NodeKind::opaque: leave(part_of(id), value); break;
    }
    return name_of(value);
  }

  const Graph& graph_;
  std::vector<std::uint32_t> levels_;
  std::map<std::uint32_t, std::size_t> part_of_level_;
  PartedGraph result_;
  std::vector<std::map<ValueId, ValueId>> copies_;  // by part: what stands there for a value
  std::vector<std::vector<ValueId>> leaving_;       // by part
  std::map<ValueId, std::string> names_;
  std::set<std::string> taken_;
};

}  // namespace

Result<PartedGraph> cut_into_parts(const Graph& graph, std::set<NodeId> in_runtime) {
  std::vector<std::uint32_t> levels = levels_of(graph, in_runtime);
  while (join_levels(graph, levels, in_runtime)) levels = levels_of(graph, in_runtime);
  return Cutter(graph, std::move(levels)).cut();
}

std::string operators_text(const Graph& graph, const std::set<NodeId>& nodes) {
  std::map<std::string, std::size_t> counts;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    ++counts[node.kind == NodeKind::opaque ? graph.opaque(node).name
                                           : std::string(graph.op(node).name)];
  }
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name,
                        count == 1 ? "" : fmt::format(" ({})", count));
  return text;
}

}  // namespace lemma
