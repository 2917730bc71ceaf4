#include "cli/graph_svg.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

namespace lemma {
namespace {

constexpr int row_height = 96, box_height = 58, gap = 24, letter_width = 7;
constexpr std::size_t most_letters = 34;

std::string cut(const std::string& text) {
  return text.size() <= most_letters ? text : text.substr(0, most_letters - 3) + "...";
}

struct Box {
  std::string title, detail, types, full;  // `full` is shown when one points at it
  std::string fill;
  int row = 0, x = 0, width = 0;
  int middle() const { return x + width / 2; }
  int top() const { return row * row_height + 8; }
};

/// Boxes in rows by their distance from the inputs; in a row in the order of what they read.
class Drawing {
 public:
  explicit Drawing(const Graph& graph) : graph_(graph) {}

  std::string run() {
    for (const NodeId id : graph_.live_nodes()) place(id);
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) place_output(i);
    arrange();
    std::string shapes;
    for (const auto& [from, to] : edges_) shapes += line(boxes_[from], boxes_[to]);
    for (const Box& box : boxes_) shapes += shape(box);
    return fmt::format(
        "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" font-size=\"12\" "
        "font-family=\"system-ui, sans-serif\" text-anchor=\"middle\" role=\"img\">\n{2}</svg>\n",
        width_ + 2, rows_ * row_height, shapes);
  }

 private:
  void place(NodeId id) {
    const Node& node = graph_.node(id);
    Box box;
    if (node.kind == NodeKind::input) {
      box.title = graph_.input_name(node);
      box.fill = "#f4f4f0";
    } else if (node.kind == NodeKind::operation) {
      box.title = std::string(graph_.op(node).name);
      box.detail = text(node.attributes);
      box.fill = graph_.op(node).has(data_movement) ? "#fdf3d8" : "#dde9f7";
    } else {
      box.title = "constant";
      box.fill = "#f4f4f0";
    }
    for (const TensorType& type : graph_.output_types(node))
      box.types += (box.types.empty() ? "" : ", ") + text(type);
    const std::size_t index = add(std::move(box));
    places_[id.v] = index;
    for (const ValueId input : node.inputs)
      if (!input.is_none()) connect(graph_.producer(input), index);
  }

  void place_output(std::size_t i) {
    const GraphOutput& output = graph_.outputs()[i];
    Box box;
    box.title = output.name;
    const std::uint32_t which = graph_.output_index(output.value);
    if (graph_.node(graph_.producer(output.value)).output_count > 1)
      box.detail = fmt::format("part {}", which);
    box.types = text(graph_.type(output.value));
    box.fill = "#f7dfe6";
    connect(graph_.producer(output.value), add(std::move(box)));
  }

  std::size_t add(Box box) {
    box.full = fmt::format("{} {} : {}", box.title, box.detail, box.types);
    box.detail = cut(box.detail);
    box.types = cut(box.types);
    const std::size_t letters =
        std::max({box.title.size(), box.detail.size(), box.types.size(), std::size_t{6}});
    box.width = static_cast<int>(letters) * letter_width + 16;
    boxes_.push_back(std::move(box));
    return boxes_.size() - 1;
  }

  void connect(NodeId from, std::size_t to) {
    const std::size_t source = places_.at(from.v);
    edges_.emplace_back(source, to);
    boxes_[to].row = std::max(boxes_[to].row, boxes_[source].row + 1);
  }

  void arrange() {
    for (const Box& box : boxes_) rows_ = std::max(rows_, box.row + 1);
    std::vector<int> right(static_cast<std::size_t>(rows_), 1);
    for (Box& box : boxes_) {  // what is read stands before
      int& next = right[static_cast<std::size_t>(box.row)];
      box.x = next;
      next += box.width + gap;
      width_ = std::max(width_, next - gap);
    }
    for (Box& box : boxes_)  // rows in the middle
      box.x += (width_ - (right[static_cast<std::size_t>(box.row)] - gap)) / 2;
  }

  static std::string line(const Box& from, const Box& to) {
    return fmt::format("<path d=\"M{} {} C{} {}, {} {}, {} {}\" fill=\"none\" stroke=\"#777\"/>\n",
                       from.middle(), from.top() + box_height, from.middle(),
                       from.top() + box_height + 24, to.middle(), to.top() - 24, to.middle(),
                       to.top());
  }

  static std::string shape(const Box& box) {
    return fmt::format(
        "<g><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" "
        "fill=\"{}\" stroke=\"#888\"/><text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>"
        "<text x=\"{}\" y=\"{}\" font-size=\"11\">{}</text>"
        "<text x=\"{}\" y=\"{}\" font-size=\"11\" fill=\"#555\">{}</text></g>\n",
        html_escaped(box.full), box.x, box.top(), box.width, box_height, box.fill, box.middle(),
        box.top() + 17, html_escaped(box.title), box.middle(), box.top() + 33,
        html_escaped(box.detail), box.middle(), box.top() + 49, html_escaped(box.types));
  }

  const Graph& graph_;
  std::vector<Box> boxes_;
  std::map<std::uint32_t, std::size_t> places_;  // of nodes, in boxes_
  std::vector<std::pair<std::size_t, std::size_t>> edges_;
  int rows_ = 1, width_ = 0;
};

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char one : text) switch (one) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(one) < 32 && one != '\n' ? ' ' : one;
    }
  return out;
}

std::string graph_svg(const Graph& graph) { return Drawing(graph).run(); }

}  // namespace lemma
