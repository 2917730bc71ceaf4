#include "cli/html_report.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "cli/table.h"
#include "cli/web_page.h"

namespace lemma {

namespace {

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Lemma: optimized models</title><style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 68rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .8rem .25rem 0; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child, td.word { text-align: left; }
pre { background: #f6f6f4; padding: .6rem .8rem; overflow-x: auto; }
.before { fill: #d5d3cc; } .after { fill: #2f7d5b; } .bad { color: #a33; }
</style></head><body>
<h1>Optimized models</h1>
)";

std::string short_name(const OptimizeAnswer& answer) {
  return html_escaped(std::filesystem::path(answer.model).filename().string());
}

bool has_costs(const OptimizeAnswer& answer) { return answer.report.before.seconds > 0; }

/// A row for each model: its cost before as a full bar, its cost after as a part of it.
std::string bars(const std::vector<OptimizeAnswer>& answers) {
  constexpr int row = 30, label = 330, width = 480;
  std::string rows;
  int count = 0;
  for (const OptimizeAnswer& answer : answers) {
    if (!has_costs(answer)) continue;
    const double part =
        std::clamp(answer.report.after.seconds / answer.report.before.seconds, 0.0, 1.0);
    const int y = row * count++;
    rows += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
        "<rect class=\"before\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"18\"/>"
        "<rect class=\"after\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"18\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
        label - 10, y + 15, short_name(answer), label, y + 1, width, label, y + 1, width * part,
        label + width + 10, y + 15,
        change_text(answer.report.before.seconds, answer.report.after.seconds));
  }
  if (count == 0) return "";
  return fmt::format(
      "<p>Predicted cost, before (light) and after (dark), each model on a scale of its own.</p>\n"
      "<svg viewBox=\"0 0 900 {0}\" width=\"900\" height=\"{0}\" font-size=\"14\" "
      "role=\"img\">\n{1}"
      "</svg>\n",
      row * count, rows);
}

/// What was done, and how much of it.
std::string search_text(const OptimizeAnswer& answer) {
  const SearchFigures& search = answer.report.search;
  std::string text(name(search.strategy));
  if (search.rounds > 0) text += fmt::format(", {} rounds", search.rounds);
  if (search.parts > 0) text += fmt::format(", {} parts in {} passes", search.parts, search.passes);
  if (search.egraph_nodes > 0) text += fmt::format(", {} nodes", search.egraph_nodes);
  if (search.graphs > 0) text += fmt::format(", {} graphs", search.graphs);
  if (!search.stop_reason.empty()) text += fmt::format("; ended by {}", search.stop_reason);
  return text;
}

std::string figures(const std::vector<OptimizeAnswer>& answers) {
  std::string out =
      "<table><tr><th>model</th><th>status</th><th>operators</th><th>flops</th><th>bytes</th>"
      "<th>cost</th><th>change</th><th>largest "
      "difference</th><th>strategy</th><th>seconds</th></tr>\n";
  for (const OptimizeAnswer& a : answers) {
    out += fmt::format("<tr><td>{}</td><td class=\"word{}\">{}</td>", short_name(a),
                       has_costs(a) ? "" : " bad", html_escaped(a.status));
    if (!has_costs(a)) {
      out +=
          fmt::format("<td class=\"word\" colspan=\"8\">{}</td></tr>\n", html_escaped(a.message));
      continue;
    }
    const GraphCost &before = a.report.before, &after = a.report.after;
    const SampledCheck& comparison = a.report.check.comparison;
    out += fmt::format(
        "<td>{} → {}</td><td>{} → {}</td><td>{} → {}</td><td>{} → {}</td><td>{}</td>"
        "<td>{}</td><td class=\"word\">{}</td><td>{:.1f}</td></tr>\n",
        before.operators, after.operators, with_prefix(before.flops), with_prefix(after.flops),
        with_prefix(before.bytes), with_prefix(after.bytes), duration_text(before.seconds),
        duration_text(after.seconds), change_text(before.seconds, after.seconds),
        comparison.samples > 0 ? fmt::format("{:.1e}", comparison.max_error) : "not compared",
        html_escaped(search_text(a)), a.seconds);
  }
  return out + "</table>\n";
}

/// How often each rule was used, over all models.
std::map<std::string, std::size_t> uses_of(const std::vector<OptimizeAnswer>& answers) {
  std::map<std::string, std::size_t> uses;
  for (const OptimizeAnswer& answer : answers)
    for (const UsedRule& use : answer.report.search.rules_used) uses[use.name] += use.count;
  return uses;
}

std::string rules_by_model(const std::vector<OptimizeAnswer>& answers) {
  std::string out;
  for (const OptimizeAnswer& answer : answers) {
    const std::vector<UsedRule>& used = answer.report.search.rules_used;
    if (used.empty()) continue;
    out += fmt::format("<h3>{}</h3>\n<p>", short_name(answer));
    for (std::size_t i = 0; i < used.size(); ++i)
      out += fmt::format("{0}<a href=\"#{1}\">{1}</a> × {2}", i == 0 ? "" : ", ",
                         html_escaped(used[i].name), used[i].count);
    out += "</p>\n";
  }
  return out.empty() ? "" : "<h2>Rules used</h2>\n" + out;
}

std::string rule_texts(const std::vector<OptimizeAnswer>& answers, const RuleDatabase& rules) {
  const auto uses = uses_of(answers);
  std::string out;
  for (std::size_t i = 0; i < rules.substitutions().size(); ++i) {
    const Substitution& rule = rules.substitutions()[i];
    const auto used = uses.find(rule.name);
    if (used == uses.end()) continue;
    out += fmt::format(
        "<h3 id=\"{0}\">{0}</h3>\n<p>used {1} times; rounding: {2}</p>\n<pre>{3}</pre>\n",
        html_escaped(rule.name), used->second, name(rules.rounding()[i]), html_escaped(text(rule)));
  }
  if (out.empty()) return "";
  return "<h2>Rules</h2>\n<p>Each is proved over the real numbers; "
         "<code>lemma audit NAME</code> shows the proof, and <code>lemma-check</code> replays it."
         "</p>\n" +
         out;
}

}  // namespace

std::string html_report(const std::vector<OptimizeAnswer>& answers, const RuleDatabase& rules) {
  return std::string(head) + bars(answers) + figures(answers) + rules_by_model(answers) +
         rule_texts(answers, rules) + "</body></html>\n";
}

}  // namespace lemma
