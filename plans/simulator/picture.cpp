#include "plans/simulator/picture.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

namespace lemma::simulator {
namespace {

constexpr double left = 110, width = 1000, row_height = 22, top = 48;

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string seconds_text(Time time) {
  const double seconds = static_cast<double>(time) * 1e-12;
  if (time >= 1'000'000'000'000) return fmt::format("{:.4g} s", seconds);
  if (time >= 1'000'000'000) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

/// Hues that are far apart, in the order in which names first occur.
std::string color_of(std::size_t number) {
  return fmt::format("hsl({},55%,62%)", number * 137 % 360);
}

}  // namespace

std::string picture_svg(std::string_view title, const TaskGraph& graph,
                        const Timetable& timetable) {
  const Time end = std::max<Time>(1, timetable.end());
  std::vector<std::size_t> row(graph.resources.size(), 0);
  std::vector<char> is_used(graph.resources.size(), 0);
  for (const Task& task : graph.tasks)
    for (const Resource resource : task.resources) is_used[resource] = 1;
  std::string body;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < graph.resources.size(); ++i) {
    if (!is_used[i]) continue;
    row[i] = rows++;
    body += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 8,
                        top + row_height * (static_cast<double>(row[i]) + 0.7),
                        escaped(graph.resources[i]));
  }
  const double height = top + row_height * static_cast<double>(rows);
  for (int tick = 0; tick <= 4; ++tick) {
    const double x = left + width * tick / 4;
    body += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\" stroke=\"#bbb\"/>\n"
        "<text x=\"{0:.1f}\" y=\"{3:.0f}\" text-anchor=\"middle\">{4}</text>\n",
        x, top - 4, height, top - 8, seconds_text(end / 4 * tick + end % 4 * tick / 4));
  }
  std::map<std::string, std::size_t> colors;
  const double scale = width / static_cast<double>(end);
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    const std::size_t color = colors.emplace(task.name, colors.size()).first->second;
    for (const Resource resource : task.resources)
      body += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\">"
          "<title>{}, from {} for {}</title></rect>\n",
          left + static_cast<double>(timetable.tasks[i].start) * scale,
          top + row_height * static_cast<double>(row[resource]) + 2,
          std::max(0.3, static_cast<double>(task.duration) * scale), row_height - 4,
          color_of(color), escaped(task.name), seconds_text(timetable.tasks[i].start),
          seconds_text(task.duration));
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<text x=\"{2:.0f}\" y=\"18\" font-size=\"14\">{3}: {4}</text>\n{5}</svg>\n",
      left + width + 40, height + 12, left, escaped(title), seconds_text(timetable.end()), body);
}

}  // namespace lemma::simulator
