#include "report/html_report.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "report/difference_page.h"
#include "report/graph_svg.h"
#include "report/model_summary.h"
#include "report/table.h"
#include "report/web_page.h"
#include "rule_language/rule_cases.h"

namespace lemma {

namespace {

constexpr std::string_view bar_style =
    "<style>.before { fill: #d5d3cc; } .after { fill: #2f7d5b; }</style>\n";

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

/// Times in the runtime, where the result and the original were run.
std::string measured_text(const OptimizeAnswer& answer) {
  const TimingReport& timing = answer.report.timing;
  const bool is_shown = (answer.report.status == OptimizeStatus::optimized ||
                         answer.report.status == OptimizeStatus::simplified) &&
                        timing.before_seconds > 0 && timing.after_seconds > 0;
  if (!is_shown) return "no";
  return fmt::format("{} → {}", duration_text(timing.before_seconds),
                     duration_text(timing.after_seconds));
}

std::string figures(const std::vector<OptimizeAnswer>& answers) {
  std::string out =
      "<div class=\"wide\"><table><tr><th class=\"word\">model</th><th "
      "class=\"word\">status</th><th>operators</th><th>flops</th><th>bytes</th>"
      "<th>cost</th><th>change</th><th>measured</th><th>largest "
      "difference</th><th class=\"word\">strategy</th><th>seconds</th></tr>\n";
  for (const OptimizeAnswer& a : answers) {
    out +=
        fmt::format("<tr><td class=\"word name\">{}</td><td class=\"word{}\">{}</td>",
                    short_name(a), has_costs(a) ? " short" : " short bad", html_escaped(a.status));
    if (!has_costs(a)) {
      out +=
          fmt::format("<td class=\"word\" colspan=\"9\">{}</td></tr>\n", html_escaped(a.message));
      continue;
    }
    const GraphCost &before = a.report.before, &after = a.report.after;
    const SampledCheck& comparison = a.report.check.comparison;
    out += fmt::format(
        "<td>{} → {}</td><td>{} → {}</td><td>{} → {}</td><td>{} → {}</td><td>{}</td>"
        "<td>{}</td><td>{}</td><td class=\"word\">{}</td><td>{:.1f}</td></tr>\n",
        before.operators, after.operators, with_prefix(before.flops), with_prefix(after.flops),
        with_prefix(before.bytes), with_prefix(after.bytes), duration_text(before.seconds),
        duration_text(after.seconds), change_text(before.seconds, after.seconds), measured_text(a),
        comparison.samples > 0 ? fmt::format("{:.1e}", comparison.max_error) : "not compared",
        html_escaped(search_text(a)), a.seconds);
  }
  out += "</table></div>\n";
  for (const OptimizeAnswer& a : answers)  // why nothing was done, or not all
    for (const std::string& said : {a.report.warning, a.message})
      if (has_costs(a) && !said.empty())
        out += fmt::format("<p>{}: {}</p>\n", short_name(a), html_escaped(said));
  return out;
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
      out += fmt::format("{}<a href=\"#{}\">{}</a> × {}", i == 0 ? "" : ", ",
                         html_escaped(used[i].name), html_escaped(readable_rule_name(used[i].name)),
                         used[i].count);
    out += "</p>\n";
  }
  return out.empty() ? "" : "<h2>Rules used</h2>\n" + out;
}

// ---- Operators

/// Costs of operators by name, before and after.
using CostsByOperator = std::map<std::string, std::pair<double, double>>;

CostsByOperator costs_by_operator(const OptimizeAnswer& answer, const ReportSources& sources) {
  CostsByOperator result;
  const auto before = import_model(answer.model, sources.reading),
             after = import_model(answer.output, sources.reading);
  if (!before || !after) return result;
  for (const OperatorSummary& summary : summarize(before->graph, sources.costs).operators)
    result[summary.name].first += summary.seconds;
  for (const OperatorSummary& summary : summarize(after->graph, sources.costs).operators)
    result[summary.name].second += summary.seconds;
  return result;
}

/// Two bars for each operator, the costliest first, on one scale.
std::string operator_bars(const CostsByOperator& costs) {
  constexpr std::size_t most = 15;
  constexpr int row = 34, label = 200, width = 420;
  std::vector<std::pair<std::string, std::pair<double, double>>> sorted(costs.begin(), costs.end());
  const auto larger = [](const auto& entry) {
    return std::max(entry.second.first, entry.second.second);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&larger](const auto& a, const auto& b) { return larger(a) > larger(b); });
  if (sorted.empty() || larger(sorted.front()) <= 0) return "";
  const double scale = width / larger(sorted.front());
  const std::size_t count = std::min(most, sorted.size());
  std::string rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [name, cost] = sorted[i];
    const int y = row * static_cast<int>(i);
    rows += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
        "<rect class=\"before\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"12\"/>"
        "<rect class=\"after\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"12\"/>"
        "<text x=\"{}\" y=\"{}\">{} → {}</text>\n",
        label - 10, y + 19, html_escaped(name), label, y + 2, cost.first * scale, label, y + 14,
        cost.second * scale, label + width + 10, y + 19, duration_text(cost.first),
        duration_text(cost.second));
  }
  const std::string rest = sorted.size() > count
                               ? fmt::format("<p>{} operators that cost less are not shown.</p>\n",
                                             sorted.size() - count)
                               : "";
  return fmt::format(
      "<svg viewBox=\"0 0 800 {0}\" width=\"800\" height=\"{0}\" font-size=\"13\" "
      "role=\"img\">\n{1}</svg>\n{2}",
      row * static_cast<int>(count), rows, rest);
}

/// Where the result differs, as far as that was told place by place.
std::string places(const SearchFigures& search) {
  std::string rows;
  for (const RewrittenPlaces& rewritten : search.places)
    rows += fmt::format(
        "<tr><td class=\"word\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        html_escaped(rewritten.text), rewritten.count, duration_text(rewritten.predicted_saving),
        rewritten.measured_saving == 0 ? "no" : duration_text(rewritten.measured_saving));
  if (rows.empty()) return "";
  return "<table><thead><tr><th class=\"word\">operators before and after</th><th>places</th>"
         "<th>predicted saving</th><th>measured</th></tr></thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

std::string operators_by_model(const std::vector<OptimizeAnswer>& answers,
                               const ReportSources& sources) {
  std::string out;
  for (const OptimizeAnswer& answer : answers) {
    if (answer.status != "optimized") continue;
    const std::string shown =
        operator_bars(costs_by_operator(answer, sources)) + places(answer.report.search);
    if (!shown.empty()) out += fmt::format("<h3>{}</h3>\n{}", short_name(answer), shown);
  }
  if (out.empty()) return "";
  return "<h2>Operators</h2>\n<p>Predicted cost of all operators of a kind, before (light) and "
         "after (dark), in what was read and what was written.</p>\n" +
         out;
}

// ---- Places that changed

std::string places_by_model(const std::vector<OptimizeAnswer>& answers,
                            const ReportSources& sources) {
  std::string out;
  for (const OptimizeAnswer& answer : answers) {
    if (answer.status != "optimized") continue;
    const auto before = import_model(answer.model, sources.reading),
               after = import_model(answer.output, sources.reading);
    if (!before || !after) continue;
    const GraphDifference graph_difference = difference(before->graph, after->graph);
    const std::string shown =
        changed_places(before->graph, after->graph, graph_difference, {"Before", "After"});
    if (!shown.empty()) out += fmt::format("<h3>{}</h3>\n{}", short_name(answer), shown);
  }
  if (out.empty()) return "";
  return "<h2>Places that changed</h2>\n<p>What was there and what is there now, in color, with "
         "what it reads and what reads it. <code>lemma diff --html</code> shows both graphs."
         "</p>\n" +
         out;
}

// ---- Rules

std::string proof_html(const std::map<std::string, ReportedProof>& proofs,
                       const std::string& rule) {
  const auto proof = proofs.find(rule);
  if (proof == proofs.end()) return "";
  std::string axioms;
  for (const std::string& axiom : proof->second.axioms)
    axioms += (axioms.empty() ? "" : ", ") + html_escaped(axiom);
  return fmt::format(
      "<details id=\"proof-{}\"><summary>Proof: {} cases, {} steps, replayed when this page was "
      "written</summary>\n<p>Rests on {}. One case:</p>\n<pre>{}</pre></details>\n",
      html_escaped(rule), proof->second.cases, proof->second.steps,
      axioms.empty() ? "nothing: both sides are one term" : axioms,
      html_escaped(proof->second.shown));
}

/// Both sides of a rule at a typical application.
std::string sides(const Substitution& rule) {
  const auto example = example_case(rule);
  if (!example) return "";
  const auto left = side_as_graph(rule, rule.left, example->inputs, example->bindings),
             right = side_as_graph(rule, rule.right, example->inputs, example->bindings);
  if (!left || !right) return "";
  return fmt::format(
      "<div class=\"sides\"><div><h4>{}</h4>{}</div><div><h4>{}</h4>{}</div></div>\n",
      rule.bidirectional ? "One side" : "Before", graph_svg(*left),
      rule.bidirectional ? "The other" : "After", graph_svg(*right));
}

std::string rule_texts(const std::vector<OptimizeAnswer>& answers, const ReportSources& sources) {
  const RuleDatabase& rules = sources.rules;
  const auto uses = uses_of(answers);
  std::string out;
  for (std::size_t i = 0; i < rules.substitutions().size(); ++i) {
    const Substitution& rule = rules.substitutions()[i];
    const auto used = uses.find(rule.name);
    if (used == uses.end()) continue;
    out += fmt::format(
        "<h3 id=\"{0}\">{5}</h3>\n<p>used {1} times; rounding: {2}{6}</p>\n<pre>{3}</pre>\n{4}",
        html_escaped(rule.name), used->second, name(rules.rounding()[i]), html_escaped(text(rule)),
        sides(rule), html_escaped(readable_rule_name(rule.name)),
        sources.proofs.contains(rule.name)
            ? fmt::format("; <a href=\"#proof-{}\">proof</a>", html_escaped(rule.name))
            : "");
    out += proof_html(sources.proofs, rule.name);
  }
  if (out.empty()) return "";
  return "<h2>Rules</h2>\n<p>Each is proved over the real numbers; "
         "<code>lemma audit NAME</code> shows the proof, and <code>lemma-check</code> replays it."
         "</p>\n" +
         out;
}

}  // namespace

std::string html_report(const std::vector<OptimizeAnswer>& answers, const ReportSources& sources) {
  WebPage page;
  page.title = "Lemma: optimized models";
  page.heading = "Optimized models";
  page.body = std::string(bar_style) + bars(answers) + figures(answers) +
              operators_by_model(answers, sources) + places_by_model(answers, sources) +
              rules_by_model(answers) + rule_texts(answers, sources);
  return text(page);
}

}  // namespace lemma
