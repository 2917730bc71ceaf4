#include "report/timeline_svg.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backend/schedule/schedule.h"
#include "outputs/files.h"
#include "report/web_page.h"

namespace lemma {

namespace {

constexpr double width = 1200, row = 28, bar = 22, left = 60, heading = 40, gap = 20,
                 legend_row = 18;

/// A hue for each kind of operator, in order of appearance, far from those before it.
std::map<std::string, int> hues_of(const backend::TaskProgram& program) {
  std::map<std::string, int> hues;
  for (const backend::TaskOperator& op : program.graph.operators)
    hues.try_emplace(op.description, static_cast<int>(hues.size() * 137 % 360));
  return hues;
}

std::string color(int hue) { return fmt::format("hsl({}, 60%, 65%)", hue); }

double end_of(const StepTimes& times) {
  double end = 0;
  for (const auto& unit : times)
    for (const auto& [from, to] : unit) end = std::max(end, to);
  return end;
}

double height_of(const StepTimes& times) {
  return heading + row * static_cast<double>(times.size()) + gap;
}

/// How long a schedule takes, and the part of it in which units run tasks.
std::string summary(std::string_view kind, const StepTimes& times) {
  double busy = 0;
  for (const auto& unit : times)
    for (const auto& [from, to] : unit) busy += to - from;
  const double end = end_of(times);
  return fmt::format("{}: {:.1f} microseconds, units busy {:.0f}% of it", kind, end * 1e6,
                     end > 0 ? 100 * busy / (end * static_cast<double>(times.size())) : 0);
}

/// A row of bars for each unit, below a summary. `scale`: pixels of a second.
std::string panel(const backend::TaskProgram& program, const std::map<std::string, int>& hues,
                  std::string_view kind, const StepTimes& times, double top, double scale) {
  std::string text =
      fmt::format("<text x=\"{}\" y=\"{:.0f}\">{}</text>\n", left, top + gap, summary(kind, times));
  for (std::size_t unit = 0; unit < times.size(); ++unit) {
    const double y = top + heading + row * static_cast<double>(unit);
    text += fmt::format("<text x=\"4\" y=\"{:.0f}\">unit {}</text>\n", y + 15, unit);
    for (std::size_t i = 0; i < times[unit].size(); ++i) {
      const auto [from, to] = times[unit][i];
      const backend::Task task = program.units[unit][i].task;
      const backend::TaskOperator& op = program.graph.operators[task.op];
      text += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" "
          "fill=\"{}\"><title>{}</title></rect>\n",
          left + from * scale, y, (to - from) * scale, bar, color(hues.at(op.description)),
          html_escaped(fmt::format("{} '{}', part {}, {}: {:.2f} to {:.2f} microseconds",
                                   op.description, op.name, task.number, kind, from * 1e6,
                                   to * 1e6)));
    }
  }
  return text;
}

std::string legend(const std::map<std::string, int>& hues, double top) {
  std::string text;
  for (const auto& [description, hue] : hues) {
    text += fmt::format(
        "<rect x=\"{}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" "
        "y=\"{:.0f}\">{}</text>\n",
        left, top, color(hue), left + 18, top + 11, html_escaped(description));
    top += legend_row;
  }
  return text;
}

}  // namespace

std::string timeline_svg(const backend::TaskProgram& program, const StepTimes& measured) {
  const StepTimes planned = backend::planned_times(program);
  const std::map<std::string, int> hues = hues_of(program);
  const double end = std::max(end_of(planned), end_of(measured));
  const double scale = end > 0 ? width / end : 0;
  const double below = height_of(planned) + (measured.empty() ? 0 : height_of(measured));
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n",
      left + width + gap, below + legend_row * static_cast<double>(hues.size()) + 10);
  text += panel(program, hues, "planned", planned, 0, scale);
  if (!measured.empty())
    text += panel(program, hues, "measured", measured, height_of(planned), scale);
  return text + legend(hues, below) + "</svg>\n";
}

Result<void> write_timeline(const std::filesystem::path& file, const backend::TaskProgram& program,
                            const StepTimes& measured) {
  std::string picture = timeline_svg(program, measured);
  if (file.extension() != ".html") return write_file_atomically(file, picture);
  WebPage page;
  page.title = page.heading = "Schedule";
  page.body = "<div style=\"overflow-x: auto\">\n" + picture + "</div>\n";
  return write_file_atomically(file, text(page));
}

}  // namespace lemma
