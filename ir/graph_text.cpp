#include "ir/graph_text.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/quoted.h"

namespace lemma {

namespace {

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string result = "hex ";
  for (const std::byte byte : bytes) result += fmt::format("{:02x}", static_cast<int>(byte));
  return result;
}

std::string contents(const Constant& constant, const GraphTextOptions& options) {
  if (constant.is_symbolic()) return "exactly " + text(*constant.exact());
  if (constant.bytes().size() > options.inline_constant_bytes)
    return fmt::format("digest {:016x}", constant.digest());
  const DataType type = constant.type().data_type;
  if (is_integer(type) || type == DataType::boolean)
    return text(AttributeValue(constant.integers()));
  if (type != DataType::f32 && type != DataType::f64) return hexadecimal(constant.bytes());
  std::string result = "[";
  const std::vector<double> values = constant.reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) return hexadecimal(constant.bytes());
    result += i == 0 ? "" : ", ";
    result += type == DataType::f32 ? fmt::format("{}", static_cast<float>(values[i]))
                                    : fmt::format("{}", values[i]);
  }
  return result + "]";
}

/// Prints with consecutive numbers, so that dead nodes leave no gaps.
class GraphPrinter {
 public:
  GraphPrinter(const Graph& graph, const GraphTextOptions& options)
      : graph_(graph), options_(options) {}

  std::string print() {
    std::string result = fmt::format("graph {}\n", quote(graph_.name()));
    if (options_.dead_nodes) {
      for (std::uint32_t i = 0; i < graph_.node_count(); ++i) result += line(graph_.node({i}));
    } else {
      for (const NodeId id : graph_.live_nodes()) result += line(graph_.node(id));
    }
    for (const GraphOutput& output : graph_.outputs())
      result += fmt::format("  output {} = {}\n", quote(output.name), name(output.value));
    return result;
  }

 private:
  std::string name(ValueId value) {
    if (value.is_none()) return "none";
    auto [where, inserted] = numbers_.try_emplace(value, numbers_.size());
    return fmt::format("%{}", where->second);
  }

  std::string line(const Node& node) {
    std::string inputs;
    for (const ValueId input : node.inputs) inputs += (inputs.empty() ? "" : ", ") + name(input);
    std::string outputs, types;
    for (std::uint32_t k = 0; k < node.output_count; ++k) {
      outputs += (k == 0 ? "" : ", ") + name(node.output(k));
      types += (k == 0 ? "" : ", ") + text(graph_.type(node.output(k)));
    }
    switch (node.kind) {
      case NodeKind::input:
        return fmt::format("  input {} {} : {}\n", outputs, quote(graph_.input_name(node)), types);
      case NodeKind::constant:
        return fmt::format("  {} = constant {} {}\n", outputs, types,
                           contents(graph_.constant(node), options_));
      case NodeKind::operation:
        return fmt::format("  {} = {}{}({}) : {}\n", outputs, graph_.op(node).name,
                           text(node.attributes), inputs, types);
      case NodeKind::opaque: break;
    }
    const OpaqueOperator& op = graph_.opaque(node);
    return fmt::format("  {} = opaque {} {} {} {} ({}) : {}\n", outputs, quote(op.domain),
                       quote(op.name), quote(op.payload), quote(op.reason), inputs, types);
  }

  const Graph& graph_;
  const GraphTextOptions& options_;
  std::map<ValueId, std::size_t> numbers_;
};

}  // namespace

std::string print_graph(const Graph& graph, const GraphTextOptions& options) {
  return GraphPrinter(graph, options).print();
}

}  // namespace lemma
