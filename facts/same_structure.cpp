#include "facts/same_structure.h"

#include <deque>
#include <map>
#include <string>
#include <utility>
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
      const std::size_t known = numbers_.size();
      std::string label = node.kind == NodeKind::constant
                              ? fmt::format("constant {}", number_of(graph.constant(node)))
                              : label_of(graph, node);
      for (const ValueId input : node.inputs)
        label += input.is_none() ? " none" : " " + values[input.v];
      const std::size_t number =
          numbers_.try_emplace(std::move(label), numbers_.size()).first->second;
      if (number == known && first_new_.empty()) first_new_ = shown_name(graph, node);
      for (std::uint32_t k = 0; k < node.output_count; ++k)
        values[node.output(k).v] = fmt::format("{}.{}", number, k);
    }
    return values;
  }

  /// The first node since the last call that no node before equals.
  std::string take_first_new() { return std::exchange(first_new_, {}); }

 private:
  static std::string label_of(const Graph& graph, const Node& node) {
    switch (node.kind) {
      case NodeKind::input:
        return fmt::format("input {} {}", graph.input_name(node), text(graph.type(node.output())));
      case NodeKind::opaque: {
        const OpaqueOperator& op = graph.opaque(node);
        return fmt::format("opaque {} {} {} {}", op.domain, op.name, node.output_count,
                           op.meaning.empty() ? op.payload : op.meaning);
      }
      case NodeKind::constant:
      case NodeKind::operation: break;
    }
    std::string label = fmt::format("{} {}", graph.op(node).name, node.output_count);
    for (const auto& [name, value] : node.attributes)
      label += fmt::format(" {}={}", name, text(value));
    return label;
  }

  /// The name for messages: without the payload.
  static std::string shown_name(const Graph& graph, const Node& node) {
    if (node.kind == NodeKind::constant) return "a constant " + text(graph.type(node.output()));
    if (node.kind == NodeKind::opaque) return graph.opaque(node).name + " (opaque)";
    return label_of(graph, node);
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
  std::string first_new_;
};

}  // namespace

Result<void> check_same_structure(const Graph& graph, const Graph& other) {
  if (graph.outputs().size() != other.outputs().size())
    return internal_error(
        fmt::format("{} outputs became {}", graph.outputs().size(), other.outputs().size()));
  Numbering numbering;
  const std::vector<std::string> left = numbering.number(graph);
  numbering.take_first_new();
  const std::vector<std::string> right = numbering.number(other);
  const std::string only_there = numbering.take_first_new();
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput &a = graph.outputs()[i], &b = other.outputs()[i];
    if (a.name != b.name || left[a.value.v] != right[b.value.v])
      return internal_error(fmt::format("the output '{}' is computed otherwise (by {})", a.name,
                                        only_there.empty() ? "other values" : only_there));
  }
  return {};
}

std::vector<std::string> differently_computed_outputs(const Graph& graph, const Graph& other) {
  Numbering numbering;
  const std::vector<std::string> left = numbering.number(graph), right = numbering.number(other);
  std::map<std::string, std::string> numbers;  // of outputs, by name
  for (const GraphOutput& output : graph.outputs())
    numbers.emplace(output.name, left[output.value.v]);
  std::vector<std::string> different;
  for (const GraphOutput& output : other.outputs()) {
    const auto number = numbers.find(output.name);
    if (number != numbers.end() && number->second != right[output.value.v])
      different.push_back(output.name);
  }
  return different;
}

void take_labels(const Graph& from, Graph& to) {
  Numbering numbering;
  const std::vector<std::string> left = numbering.number(from), right = numbering.number(to);
  std::map<std::string, std::deque<const std::string*>> labels;  // of equal nodes, in order
  for (const NodeId id : from.live_nodes())
    if (const Node& node = from.node(id); node.kind == NodeKind::opaque && node.output_count != 0)
      labels[left[node.output().v]].push_back(&from.opaque(node).label);
  for (const NodeId id : to.live_nodes()) {
    const Node& node = to.node(id);
    if (node.kind != NodeKind::opaque || node.output_count == 0) continue;
    auto& equal = labels[right[node.output().v]];
    if (equal.empty()) continue;
    to.label_opaque(id, *equal.front());
    equal.pop_front();
  }
}

}  // namespace lemma
