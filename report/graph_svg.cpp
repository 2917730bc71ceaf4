#include "report/graph_svg.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "report/graph_difference.h"
#include "report/graph_layout.h"
#include "report/web_page.h"

namespace lemma {
namespace {

constexpr int title_letter_width = 8, letter_width = 7, line_height = 15, padding = 8,
              narrowest = 60;
constexpr std::size_t wanted_letters = 34;
/// A picture that does not fit becomes so small at least, and is scrolled beyond that: its text has to be read.
constexpr int least_size_percent = 75;

/// Lines of about `wanted_letters`, broken behind a comma or a blank; what has none stays whole.
std::vector<std::string> wrapped(std::string_view text) {
  std::vector<std::string> lines;
  while (text.size() > wanted_letters) {
    std::size_t end = text.substr(0, wanted_letters).find_last_of(", ");
    if (end == std::string_view::npos) end = text.find_first_of(", ", wanted_letters);
    if (end == std::string_view::npos) break;
    lines.emplace_back(text.substr(0, end + 1));
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ', end + 1)));
  }
  if (!text.empty()) lines.emplace_back(text);
  return lines;
}

struct Box {
  std::string title, look;  // a class of the page's style
  std::vector<std::string> detail, types;
};

class Drawing {
 public:
  Drawing(const Graph& graph, std::span<const char> marked, std::string_view look,
          const NodeNotes& notes = {})
      : graph_(graph), marked_(marked), look_(look), notes_(notes) {}

  std::string run() {
    for (const NodeId id : graph_.live_nodes()) place(id);
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) place_output(i);
    arrange(layout_);
    std::string shapes;
    for (const LayoutLine& line : layout_.lines)
      shapes += fmt::format("<path class=\"edge\" d=\"{}\"/>\n", line.path);
    for (std::size_t i = 0; i < boxes_.size(); ++i) shapes += shape(boxes_[i], layout_.boxes[i]);
    return fmt::format(
        "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" style=\"min-width: {2}px\" "
        "font-size=\"13\" font-family=\"system-ui, sans-serif\" text-anchor=\"middle\" "
        "role=\"img\">\n{3}</svg>\n",
        layout_.width, layout_.height, layout_.width * least_size_percent / 100, shapes);
  }

 private:
  void place(NodeId id) {
    const Node& node = graph_.node(id);
    Box box;
    box.look = "input";
    if (node.kind == NodeKind::input) {
      box.title = graph_.input_name(node);
    } else if (node.kind == NodeKind::operation) {
      box.title = std::string(graph_.op(node).name);
      box.detail = wrapped(text(node.attributes));
      box.look = graph_.op(node).has(data_movement) ? "movement" : "compute";
    } else if (node.kind == NodeKind::opaque) {
      box.title = operator_name(graph_, node);
      box.look = "opaque";
    } else {
      box.title = "constant";
    }
    if (id.v < marked_.size() && marked_[id.v] != 0) box.look = look_;
    if (const auto notes = notes_.find(id); notes != notes_.end())
      for (const std::string& note : notes->second)
        for (std::string& line : wrapped(note)) box.detail.push_back(std::move(line));
    for (const TensorType& type : graph_.output_types(node))
      for (std::string& line : wrapped(text(type))) box.types.push_back(std::move(line));
    const std::size_t index = add(std::move(box));
    places_[id.v] = index;
    std::vector<std::size_t> sources;
    for (const ValueId input : node.inputs)
      if (!input.is_none()) sources.push_back(places_.at(graph_.producer(input).v));
    for (std::size_t i = 0; i < sources.size(); ++i)
      layout_.lines.push_back(
          {sources[i], index, static_cast<int>(i), static_cast<int>(sources.size()), ""});
  }

  void place_output(std::size_t i) {
    const GraphOutput& output = graph_.outputs()[i];
    Box box;
    box.title = output.name;
    if (graph_.node(graph_.producer(output.value)).output_count > 1)
      box.detail = {fmt::format("part {}", graph_.output_index(output.value))};
    box.types = wrapped(text(graph_.type(output.value)));
    box.look = "output";
    const std::size_t index = add(std::move(box));
    layout_.lines.push_back({places_.at(graph_.producer(output.value).v), index, 0, 1, ""});
  }

  std::size_t add(Box box) {
    std::size_t letters = 0;
    for (const auto* lines : {&box.detail, &box.types})
      for (const std::string& line : *lines) letters = std::max(letters, line.size());
    LayoutBox size;
    size.width = 2 * padding + std::max({static_cast<int>(letters) * letter_width,
                                         static_cast<int>(box.title.size()) * title_letter_width,
                                         narrowest - 2 * padding});
    size.height = static_cast<int>(1 + box.detail.size() + box.types.size()) * line_height + 10;
    layout_.boxes.push_back(size);
    boxes_.push_back(std::move(box));
    return boxes_.size() - 1;
  }

  static std::string shape(const Box& box, const LayoutBox& place) {
    std::string lines;
    int y = place.y + line_height + 1;
    const auto add = [&lines, &y, &place](const std::string& text, std::string_view look) {
      lines += fmt::format("<text x=\"{}\" y=\"{}\" {}>{}</text>", place.middle(), y, look,
                           html_escaped(text));
      y += line_height;
    };
    add(box.title, "font-weight=\"bold\"");
    for (const std::string& line : box.detail) add(line, "font-size=\"12\"");
    for (const std::string& line : box.types) add(line, "class=\"type\" font-size=\"12\"");
    return fmt::format(
        "<g><rect class=\"box {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\"/>{}</g>\n",
        box.look, place.x, place.y, place.width, place.height, lines);
  }

  const Graph& graph_;
  std::span<const char> marked_;
  std::string_view look_;
  NodeNotes notes_;
  std::vector<Box> boxes_;
  Layout layout_;
  std::map<std::uint32_t, std::size_t> places_;  // of nodes, in boxes_
};

}  // namespace

std::string graph_svg(const Graph& graph) { return Drawing(graph, {}, "").run(); }

std::string graph_svg(const Graph& graph, std::span<const char> marked, std::string_view look) {
  return Drawing(graph, marked, look).run();
}

std::string graph_svg(const Graph& graph, std::span<const char> marked, std::string_view look,
                      const NodeNotes& notes) {
  return Drawing(graph, marked, look, notes).run();
}

}  // namespace lemma
