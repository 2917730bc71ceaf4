#include "report/difference_page.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "report/graph_svg.h"
#include "report/web_page.h"

namespace lemma {

namespace {

constexpr std::size_t largest_graph = 120, largest_place = 40, most_places = 60;
constexpr std::string_view taken_away = "taken", added = "added";

std::size_t live_count(const Graph& graph) { return graph.live_nodes().size(); }

/// One side of a place: what its nodes do, in color, with what they read and give.
std::string side(const Graph& graph, const std::vector<NodeId>& nodes, std::string_view look) {
  if (nodes.empty()) return "<p class=\"quiet\">nothing</p>";
  const auto part = part_of(graph, nodes);
  if (!part) return "<p class=\"quiet\">no picture</p>";
  std::vector<char> marked(part->node_count(), 0);
  for (std::size_t i = 0; i < marked.size(); ++i)
    marked[i] =
        part->nodes()[i].kind == NodeKind::operation || part->nodes()[i].kind == NodeKind::opaque
            ? 1
            : 0;
  return graph_svg(*part, marked, look);
}

std::string sides(const std::string& left, const std::string& right, const SideNames& names) {
  return fmt::format(
      "<div class=\"sides\"><div><h4>{}</h4>{}</div><div><h4>{}</h4>{}</div></div>\n",
      html_escaped(names.before), left, html_escaped(names.after), right);
}

}  // namespace

std::string whole_graphs(const Graph& before, const Graph& after, const GraphDifference& difference,
                         const SideNames& names) {
  if (std::max(live_count(before), live_count(after)) > largest_graph) return "";
  return sides(graph_svg(before, difference.only_before, taken_away),
               graph_svg(after, difference.only_after, added), names);
}

std::string changed_places(const Graph& before, const Graph& after,
                           const GraphDifference& difference, const SideNames& names) {
  std::map<std::string, std::size_t> count;
  for (const ChangedPlace& place : difference.places) ++count[place.text];
  std::string result;
  std::size_t shown = 0, left_out = 0;
  std::map<std::string, bool> seen;
  for (const ChangedPlace& place : difference.places) {
    if (std::exchange(seen[place.text], true)) continue;
    if (shown == most_places) {
      ++left_out;
      continue;
    }
    ++shown;
    result += fmt::format(
        "<h4>{}{}</h4>\n", html_escaped(place.text),
        count[place.text] > 1
            ? fmt::format(" <span class=\"quiet\">({} places)</span>", count[place.text])
            : "");
    if (std::max(place.before.size(), place.after.size()) > largest_place)
      result += fmt::format(
          "<p class=\"quiet\">{} nodes before and {} after: too many for a picture.</p>\n",
          place.before.size(), place.after.size());
    else
      result +=
          sides(side(before, place.before, taken_away), side(after, place.after, added), names);
  }
  if (left_out > 0)
    result +=
        fmt::format("<p class=\"quiet\">{} other kinds of places are not shown.</p>\n", left_out);
  return result;
}

}  // namespace lemma
