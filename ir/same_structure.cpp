#include "ir/same_structure.h"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace lemma {

namespace {

/// The operator that copies every element to where it was.
bool is_identity(const OperatorRecord& op) { return op.has(elementwise) && op.has(view); }

/// Numbers for nodes of both graphs; equal nodes over equal operands have one number.
class Numbering {
 public:
  /// Numbers of the graph's values, by id.
  std::vector<std::string> number(const Graph& graph) {
    std::vector<std::string> values(graph.value_count());
    for (const NodeId id : graph.live_nodes()) {
      const Node& node = graph.node(id);
      // Export writes one for an output that is an input, a constant or another output.
      if (node.kind == NodeKind::operation && is_identity(graph.op(node))) {
        values[node.output().v] = values[node.inputs.front().v];
        continue;
      }
      std::string label = node.kind == NodeKind::constant
                              ? fmt::format("constant {}", number_of(graph.constant(node)))
                              : label_of(graph, node);
      for (const ValueId input : node.inputs)
        label += input.is_none() ? " none" : " " + values[input.v];
      const std::size_t number =
          numbers_.try_emplace(std::move(label), numbers_.size()).first->second;
      for (std::uint32_t k = 0; k < node.output_count; ++k)
        values[node.output(k).v] = fmt::format("{}.{}", number, k);
    }
    return values;
  }

 private:
  static std::string label_of(const Graph& graph, const Node& node) {
    switch (node.kind) {
      case NodeKind::input:
        return fmt::format("input {} {}", graph.input_name(node), text(graph.type(node.output())));
      case NodeKind::opaque: {
        const OpaqueOperator& op = graph.opaque(node);
        return fmt::format("opaque {} {} {} {}", op.domain, op.name, node.output_count, op.payload);
      }
      case NodeKind::constant:
      case NodeKind::operation: break;
    }
    std::string label = fmt::format("{} {}", graph.op(node).name, node.output_count);
    for (const auto& [name, value] : node.attributes)
      label += fmt::format(" {}={}", name, text(value));
    return label;
  }

  std::size_t number_of(const Constant& constant) {
    auto& alike = constants_[constant.hash()];
    for (const auto& [known, number] : alike)
      if (known == constant) return number;
    alike.emplace_back(constant, constant_count_);
    return constant_count_++;
  }

  std::map<std::string, std::size_t> numbers_;
  std::map<std::size_t, std::vector<std::pair<Constant, std::size_t>>> constants_;
  std::size_t constant_count_ = 0;
};

}  // namespace

Result<void> check_same_structure(const Graph& graph, const Graph& other) {
  if (graph.outputs().size() != other.outputs().size())
    return internal_error(
        fmt::format("{} outputs became {}", graph.outputs().size(), other.outputs().size()));
  Numbering numbering;
  const std::vector<std::string> left = numbering.number(graph), right = numbering.number(other);
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput &a = graph.outputs()[i], &b = other.outputs()[i];
    if (a.name != b.name || left[a.value.v] != right[b.value.v])
      return internal_error(fmt::format("the output '{}' is computed otherwise", a.name));
  }
  return {};
}

}  // namespace lemma
