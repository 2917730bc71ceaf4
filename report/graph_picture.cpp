#include "report/graph_picture.h"

#include <fmt/format.h>

#include "base/shown_text.h"
#include "report/model_summary.h"

namespace lemma {

namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : shown(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string_view fill_of(const OperatorRecord& op) {
  if (op.has(view)) return "#f4f4f0";
  if (op.has(data_movement)) return "#fdf3d8";
  if (op.has(elementwise)) return "#e3f1e1";
  return "#dde9f7";
}

std::string constant_text(const Constant& constant) {
  constexpr std::size_t most_shown = 8;
  if (!is_integer(constant.type().data_type) || constant.element_count() > most_shown)
    return text(constant.type());
  return fmt::format("[{}]", fmt::join(constant.integers(), ", "));
}

class Picture {
 public:
  explicit Picture(const Graph& graph) : graph_(graph) {}

  std::string draw() {
    source_ = fmt::format(
        "digraph \"{}\" {{\n"
        "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11,\n"
        "        color=\"#888888\", fillcolor=white];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#666666\", fontcolor=\"#444444\"];\n",
        escaped(graph_.name()));
    for (const NodeId id : graph_.live_nodes()) draw_node(id);
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const GraphOutput& output = graph_.outputs()[i];
      source_ += fmt::format("  out{} [label=\"{}\", shape=ellipse, fillcolor=\"#f7dfe6\"];\n", i,
                             escaped(output.name));
      draw_edge(output.value, fmt::format("out{}", i));
    }
    return source_ + "}\n";
  }

 private:
  void draw_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::constant) {
      if (is_output(node)) declare(id, constant_text(graph_.constant(node)), "white", "note");
      return;
    }
    if (node.kind == NodeKind::input)
      return declare(id, graph_.input_name(node), "#f7dfe6", "ellipse");
    const bool opaque = node.kind == NodeKind::opaque;
    std::string label =
        opaque ? qualified_name(graph_.opaque(node)) : std::string(graph_.op(node).name);
    if (!node.attributes.empty()) label += "\n" + text(node.attributes);
    for (const ValueId input : node.inputs)
      if (const Constant* constant = graph_.constant_of(input))
        label += "\n" + constant_text(*constant);
    declare(id, label, opaque ? "#d0d0d0" : fill_of(graph_.op(node)), "box");
    for (const ValueId input : node.inputs)
      if (!input.is_none() && graph_.constant_of(input) == nullptr)
        draw_edge(input, fmt::format("n{}", id.v));
  }

  void declare(NodeId id, const std::string& label, std::string_view fill, std::string_view shape) {
    std::string lines;
    for (std::size_t begin = 0; begin <= label.size();) {
      const std::size_t end = std::min(label.find('\n', begin), label.size());
      if (begin != 0) lines += "\\n";
      lines += escaped(std::string_view(label).substr(begin, end - begin));
      begin = end + 1;
    }
    source_ += fmt::format("  n{} [label=\"{}\", fillcolor=\"{}\", shape={}];\n", id.v, lines, fill,
                           shape);
  }

  void draw_edge(ValueId value, const std::string& target) {
    source_ += fmt::format("  n{} -> {} [label=\" {}\"];\n", graph_.producer(value).v, target,
                           escaped(text(graph_.type(value))));
  }

  bool is_output(const Node& node) const {
    for (const GraphOutput& output : graph_.outputs())
      if (output.value == node.output()) return true;
    return false;
  }

  const Graph& graph_;
  std::string source_;
};

}  // namespace

std::string graph_picture(const Graph& graph) { return Picture(graph).draw(); }

}  // namespace lemma
