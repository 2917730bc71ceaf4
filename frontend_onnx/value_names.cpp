#include "frontend_onnx/value_names.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/subgraphs.h"

namespace lemma::frontend {

ValueNames::ValueNames(const Graph& graph, const std::vector<NodeId>& live, OpaqueNodes& opaque) {
  for (const auto& [id, node] : opaque) collect_inner_names(node, inner_);
  name_inputs(graph);
  name_outputs(graph);
  name_captures(graph, opaque);
  name_others(graph, live);
}

const std::string& ValueNames::of(ValueId value) const {
  static const std::string absent;
  const auto entry = names_.find(value);
  return entry != names_.end() ? entry->second : absent;
}

std::string ValueNames::unique(const std::string& base) {
  std::string name = base;
  for (int i = 2; taken_.contains(name) || inner_.contains(name); ++i)
    name = fmt::format("{}_{}", base, i);
  taken_.insert(name);
  return name;
}

const std::vector<std::pair<std::string, ValueId>>& ValueNames::aliases_before(
    NodeId opaque) const {
  static const std::vector<std::pair<std::string, ValueId>> none;
  const auto entry = aliases_.find(opaque);
  return entry != aliases_.end() ? entry->second : none;
}

void ValueNames::assign(ValueId value, const std::string& name) {
  names_.emplace(value, name);
  taken_.insert(name);
}

void ValueNames::name_inputs(const Graph& graph) {
  for (const NodeId id : graph.inputs())
    assign(graph.node(id).output(), graph.input_name(graph.node(id)));
}

void ValueNames::name_outputs(const Graph& graph) {
  for (const GraphOutput& output : graph.outputs()) taken_.insert(output.name);
  for (const auto& [name, value] : graph.outputs()) {
    if (of(value) == name) continue;
    const NodeKind kind = graph.node(graph.producer(value)).kind;
    const bool is_computed = kind == NodeKind::operation || kind == NodeKind::opaque;
    if (is_computed && !names_.contains(value))
      names_.emplace(value, name);
    else
      output_aliases_.emplace_back(name, value);
  }
}

void ValueNames::name_captures(const Graph& graph, OpaqueNodes& opaque) {
  std::map<std::string, ValueId> meaning;
  for (const auto& [name, value] : output_aliases_) meaning.emplace(name, ValueId::none());
  for (const auto& [value, name] : names_) meaning.insert_or_assign(name, value);
  for (auto& [id, node] : opaque) {
    const std::vector<std::string> captured = captured_names(node);
    const auto& inputs = graph.node(id).inputs;
    NameMap renamed;
    for (std::size_t i = 0; i < captured.size(); ++i) {
      const ValueId value = inputs[static_cast<std::size_t>(node.input_size()) + i];
      std::string name = captured[i];
      const auto [where, is_new] = meaning.try_emplace(name, value);
      if (!is_new && where->second != value) {
        name = unique(name);
        meaning.emplace(name, value);
        renamed.emplace(captured[i], name);
      }
      if (!names_.contains(value)) assign(value, name);
      if (of(value) != name) aliases_[id].emplace_back(name, value);
      taken_.insert(name);
    }
    if (!renamed.empty()) rename_captures(node, renamed);
  }
}

void ValueNames::name_others(const Graph& graph, const std::vector<NodeId>& live) {
  for (const NodeId id : live) {
    const Node& node = graph.node(id);
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const ValueId value = node.output(i);
      const std::string& suggested = graph.suggested_name(value);
      if (names_.contains(value) || suggested.empty() || taken_.contains(suggested)) continue;
      assign(value, suggested);
    }
  }
  // Second, so that no made-up name takes the place of a suggested one.
  for (const NodeId id : live) {
    const Node& node = graph.node(id);
    const std::string_view kind = node.kind == NodeKind::operation  ? graph.op(node).name
                                  : node.kind == NodeKind::constant ? "constant"
                                                                    : "value";
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      if (!names_.contains(node.output(i)))
        names_.emplace(node.output(i), unique(fmt::format("{}_{}", kind, node.output(i).v)));
  }
}

}  // namespace lemma::frontend
