#include "report/timeline_svg.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "backend/schedule/schedule.h"
#include "outputs/files.h"
#include "report/web_page.h"

namespace lemma {

namespace {

constexpr double width = 1200, row = 28, bar = 22, left = 60, heading = 40, gap = 20,
                 legend_row = 18, axis = 24, title = 26;

/// The picture may be a file of its own, so it has its style in it.
constexpr std::string_view own_style = R"(<style>
.timeline text { fill: #222; } .timeline .paper { fill: #fff; } .timeline .grid { stroke: #ddd; }
@media (prefers-color-scheme: dark) {
.timeline text { fill: #e3e3e0; } .timeline .paper { fill: #17191c; } .timeline .grid { stroke: #3a3d41; } }
</style>
)";

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
  return heading + row * static_cast<double>(times.size()) + axis + gap;
}

/// The distance of the axis' numbers in microseconds: 1, 2 or 5 of a power of ten, five to twelve of them.
double step_of(double microseconds) {
  constexpr double fewest = 5;
  double step = std::pow(10, std::floor(std::log10(microseconds / fewest)));
  for (const double factor : {5, 2})
    if (microseconds / (factor * step) >= fewest) return factor * step;
  return step;
}

/// Lines behind the bars from `top` to `bottom`, and below them the numbers. `end` in seconds.
std::string axis_of(double end, double top, double bottom) {
  if (end <= 0) return "";
  const double microseconds = end * 1e6, step = step_of(microseconds);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step))));
  std::string text;
  for (int i = 0; i * step <= microseconds; ++i) {
    const double x = left + width * i * step / microseconds;
    text += fmt::format(
        "<line class=\"grid\" x1=\"{0:.2f}\" y1=\"{1:.0f}\" x2=\"{0:.2f}\" y2=\"{2:.0f}\"/>"
        "<text x=\"{0:.2f}\" y=\"{3:.0f}\" text-anchor=\"middle\">{4:.{5}f} us</text>\n",
        x, top, bottom, bottom + 14, i * step, decimals);
  }
  return text;
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

/// A row of bars for each unit, below a summary and above an axis that ends at `end` seconds.
std::string panel(const backend::TaskProgram& program, const std::map<std::string, int>& hues,
                  std::string_view kind, const StepTimes& times, double top, double end) {
  const double scale = end > 0 ? width / end : 0;  // pixels of a second
  std::string text =
      fmt::format("<text x=\"{}\" y=\"{:.0f}\">{}</text>\n", left, top + gap, summary(kind, times));
  text += axis_of(end, top + heading - 4, top + height_of(times) - axis - gap);
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

std::string timeline_svg(std::string_view model, const backend::TaskProgram& program,
                         const StepTimes& measured) {
  const StepTimes planned = backend::planned_times(program);
  const std::map<std::string, int> hues = hues_of(program);
  const double end = std::max(end_of(planned), end_of(measured));
  const double below = title + height_of(planned) + (measured.empty() ? 0 : height_of(measured));
  // Beside the bars there is room for half of the last number.
  const double whole_width = left + width + 2 * gap,
               height = below + legend_row * static_cast<double>(hues.size()) + 10;
  const std::string name = html_escaped(fmt::format("{}: what each unit does when", model));
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\" "
      "role=\"img\" aria-label=\"{2}\">\n{3}<rect class=\"paper\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\"/>\n<text x=\"{4}\" y=\"18\" font-size=\"15\" font-weight=\"bold\">{2}"
      "</text>\n",
      whole_width, height, name, own_style, left);
  text += panel(program, hues, "planned", planned, title, end);
  if (!measured.empty())
    text += panel(program, hues, "measured", measured, title + height_of(planned), end);
  return text + legend(hues, below) + "</svg>\n";
}

Result<void> write_timeline(const std::filesystem::path& file,
                            const std::filesystem::path& model_file,
                            const backend::TaskProgram& program, const StepTimes& measured) {
  const std::string model = model_file.filename().string();
  std::string picture = timeline_svg(model, program, measured);
  if (file.extension() != ".html") return write_file_atomically(file, picture);
  WebPage page;
  page.title = fmt::format("Lemma: schedule of {}", model);
  page.heading = fmt::format("Schedule of {}", model);
  page.body = "<div class=\"wide\">\n" + picture + "</div>\n";
  return write_file_atomically(file, text(page));
}

}  // namespace lemma
