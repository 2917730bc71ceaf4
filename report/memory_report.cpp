#include "report/memory_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "outputs/files.h"
#include "report/printable.h"
#include "report/web_page.h"

namespace lemma {

namespace {

constexpr double left = 90, width = 860, top = 60, height = 320;

/// How often each operator runs again, the most often first.
std::vector<std::pair<std::string, std::size_t>> counts_of(const backend::MemoryFigures& memory) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& name : memory.repeated) ++counts[name];
  std::vector<std::pair<std::string, std::size_t>> result(counts.begin(), counts.end());
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return result;
}

double added_percent(const backend::MemoryFigures& memory, double seconds) {
  return memory.seconds_before > 0 ? 100 * (seconds / memory.seconds_before - 1) : 0;
}

std::uint64_t most_of(const std::vector<std::uint64_t>& bytes) {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

/// A line that steps from operator to operator.
std::string line_of(const std::vector<std::uint64_t>& bytes, std::size_t steps, double most,
                    std::string_view color) {
  std::string points;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const double y = top + height * (1 - static_cast<double>(bytes[i]) / most);
    for (const std::size_t end : {i, i + 1})
      points +=
          fmt::format("{:.2f},{:.2f} ",
                      left + width * static_cast<double>(end) / static_cast<double>(steps), y);
  }
  return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"{}\"/>\n",
                     color, points);
}

bool has_limit(const backend::MemoryFigures& memory) { return memory.limit != UINT64_MAX; }

}  // namespace

std::string memory_text(const backend::MemoryFigures& memory, std::uint64_t bytes) {
  std::string result = fmt::format("memory: {} bytes before, {} now", memory.arena_before, bytes);
  if (has_limit(memory)) result += fmt::format(", limit {}", memory.limit);
  result += fmt::format("; {} operators run again, {:+.2f}% of the time as modelled",
                        memory.repeated.size(), added_percent(memory, memory.seconds));
  if (!memory.repeated.empty())
    result += fmt::format(", at least {:+.2f}%{}", added_percent(memory, memory.seconds_bound),
                          memory.bounds_order ? " in this order of first runs" : "");
  result += fmt::format("; by {}\n", memory.method);
  if (!memory.given_up.empty())
    result += fmt::format("  given up for the limit: {}\n", memory.given_up);
  constexpr std::size_t most_lines = 10;
  const auto counts = counts_of(memory);
  for (std::size_t i = 0; i < std::min(counts.size(), most_lines); ++i)
    result += printable(fmt::format("  again: {} ({})", counts[i].first, counts[i].second)) + "\n";
  if (counts.size() > most_lines)
    result += fmt::format("  and {} others\n", counts.size() - most_lines);
  return result;
}

nlohmann::ordered_json memory_json(const backend::MemoryFigures& memory) {
  nlohmann::ordered_json again = nlohmann::ordered_json::object();
  for (const auto& [name, count] : counts_of(memory)) again[name] = count;
  nlohmann::ordered_json json = {{"method", memory.method},
                                 {"arena_before", memory.arena_before},
                                 {"bytes_in_use", most_of(memory.after)},
                                 {"seconds_before", memory.seconds_before},
                                 {"seconds", memory.seconds},
                                 {"seconds_bound", memory.seconds_bound},
                                 {"bounds_order", memory.bounds_order},
                                 {"again", std::move(again)}};
  if (has_limit(memory)) json["limit"] = memory.limit;
  if (!memory.given_up.empty()) json["given_up"] = memory.given_up;
  return json;
}

std::string memory_svg(std::string_view model, const backend::MemoryFigures& memory) {
  const double most = 1.05 * static_cast<double>(std::max<std::uint64_t>(
                                 {most_of(memory.before), most_of(memory.after), 1}));
  const std::size_t steps = std::max<std::size_t>({memory.before.size(), memory.after.size(), 1});
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n"
      "<text x=\"{2}\" y=\"22\">{3}: bytes in use while each operator runs</text>\n",
      left + width + 20, top + height + 40, left, html_escaped(model));
  text += fmt::format(
      "<text x=\"{0}\" y=\"42\" fill=\"#888\">before: {1} operators, at most {2} bytes</text>"
      "<text x=\"{3}\" y=\"42\" fill=\"#06c\">with the plan: {4} operators, at most {5} "
      "bytes</text>\n",
      left, memory.before.size(), most_of(memory.before), left + 420, memory.after.size(),
      most_of(memory.after));
  for (int part = 0; part <= 4; ++part) {
    const double y = top + height * (1 - part / 4.0);
    text += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.3g}</text>\n",
        left, y, left + width, left - 6, y + 4, most * part / 4);
  }
  if (has_limit(memory) && static_cast<double>(memory.limit) < most) {
    const double y = top + height * (1 - static_cast<double>(memory.limit) / most);
    text += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.2f}\" x2=\"{2}\" y2=\"{1:.2f}\" stroke=\"#c00\" "
        "stroke-dasharray=\"6 4\"/><text x=\"{2}\" y=\"{3:.2f}\" fill=\"#c00\" "
        "text-anchor=\"end\">limit {4}</text>\n",
        left, y, left + width, y - 4, memory.limit);
  }
  text += line_of(memory.before, steps, most, "#888") + line_of(memory.after, steps, most, "#06c");
  return text + "</svg>\n";
}

Result<void> write_memory_svg(const std::filesystem::path& file,
                              const std::filesystem::path& model_file,
                              const backend::MemoryFigures& memory) {
  return write_file_atomically(file, memory_svg(model_file.filename().string(), memory));
}

}  // namespace lemma
