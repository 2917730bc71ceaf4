#include "cli/timeline_svg.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backend_cuda/schedule/schedule.h"
#include "cli/web_page.h"

namespace lemma {

namespace {

constexpr double width = 1200, row = 28, bar = 22, left = 60, top = 40, legend_row = 18;

/// A hue for each kind of operator, in order of appearance, far from those before it.
std::map<std::string, int> hues_of(const backend::TaskProgram& program) {
  std::map<std::string, int> hues;
  for (const backend::TaskOperator& op : program.graph.operators)
    hues.try_emplace(op.description, static_cast<int>(hues.size() * 137 % 360));
  return hues;
}

std::string color(int hue) { return fmt::format("hsl({}, 60%, 65%)", hue); }

}  // namespace

std::string timeline_svg(const backend::TaskProgram& program) {
  const auto times = backend::planned_times(program);
  const std::map<std::string, int> hues = hues_of(program);
  double end = 0, busy = 0;
  for (const auto& unit : times)
    for (const auto& [from, to] : unit) {
      end = std::max(end, to);
      busy += to - from;
    }
  const double scale = end > 0 ? width / end : 0;
  const double below = top + row * static_cast<double>(times.size()) + 20;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\">\n<text x=\"{}\" y=\"20\">planned: {:.1f} microseconds, units busy {:.0f}% "
      "of it</text>\n",
      left + width + 20, below + legend_row * static_cast<double>(hues.size()) + 10, left,
      end * 1e6, end > 0 ? 100 * busy / (end * static_cast<double>(times.size())) : 0);
  for (std::size_t unit = 0; unit < times.size(); ++unit) {
    const double y = top + row * static_cast<double>(unit);
    text += fmt::format("<text x=\"4\" y=\"{:.0f}\">unit {}</text>\n", y + 15, unit);
    for (std::size_t i = 0; i < times[unit].size(); ++i) {
      const auto [from, to] = times[unit][i];
      const backend::Task task = program.units[unit][i].task;
      const backend::TaskOperator& op = program.graph.operators[task.op];
      text += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" "
          "fill=\"{}\"><title>{}</title></rect>\n",
          left + from * scale, y, (to - from) * scale, bar, color(hues.at(op.description)),
          html_escaped(fmt::format("{} '{}', part {}: {:.2f} to {:.2f} microseconds",
                                   op.description, op.name, task.number, from * 1e6, to * 1e6)));
    }
  }
  std::size_t line = 0;
  for (const auto& [description, hue] : hues) {
    const double y = below + legend_row * static_cast<double>(line++);
    text += fmt::format(
        "<rect x=\"{}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" "
        "y=\"{:.0f}\">{}</text>\n",
        left, y, color(hue), left + 18, y + 11, html_escaped(description));
  }
  return text + "</svg>\n";
}

}  // namespace lemma
