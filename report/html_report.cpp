#include "report/html_report.h"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/difference_page.h"
#include "report/first_screen.h"
#include "report/graph_difference.h"
#include "report/model_gain.h"
#include "report/model_summary.h"
#include "report/rule_picture.h"
#include "report/table.h"
#include "report/web_page.h"

namespace lemma {

namespace {

bool has_costs(const OptimizeAnswer& answer) { return answer.report.before.seconds > 0; }

std::string shown_name(const OptimizeAnswer& answer) { return breakable(short_name(answer)); }

// ---- All figures

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

/// Times in the runtime; those of an original that was kept are one time.
std::string measured_text(const OptimizeAnswer& answer) {
  const auto measured = measured_seconds(answer);
  if (!measured) return "no";
  return fmt::format("{} → {}", duration_text(measured->first), duration_text(measured->second));
}

std::string figures_of(const OptimizeAnswer& a) {
  const GraphCost &before = a.report.before, &after = a.report.after;
  const SampledCheck& comparison = a.report.check.comparison;
  return fmt::format(
      "<tr><td class=\"word name\">{}</td><td class=\"word short\">{}</td>"
      "<td>{} → {}</td><td>{} → {}</td><td>{} → {}</td><td>{} → {}</td><td>{}</td>"
      "<td>{}</td><td>{}</td><td class=\"word\">{}</td><td>{:.1f}</td></tr>\n",
      shown_name(a), html_escaped(a.status), before.operators, after.operators,
      with_prefix(before.flops), with_prefix(after.flops), with_prefix(before.bytes),
      with_prefix(after.bytes), duration_text(before.seconds), duration_text(after.seconds),
      change_text(before.seconds, after.seconds), measured_text(a),
      comparison.samples > 0 ? fmt::format("{:.1e}", comparison.max_error) : "not compared",
      html_escaped(search_text(a)), a.seconds);
}

std::string figures(const std::vector<OptimizeAnswer>& answers) {
  std::string rows;
  for (const OptimizeAnswer& answer : answers)
    if (has_costs(answer)) rows += figures_of(answer);
  if (rows.empty()) return "";
  return "<details><summary>All figures</summary>\n<div class=\"wide\"><table "
         "class=\"figures\"><thead><tr>"
         "<th class=\"word\">model</th><th "
         "class=\"word\">status</th><th>operators</th><th>flops</th>"
         "<th>bytes</th><th>predicted cost</th><th>change</th><th>measured</th>"
         "<th>largest difference</th><th class=\"word\">strategy</th><th>seconds</th></tr></thead>"
         "<tbody>\n" +
         rows + "</tbody></table></div></details>\n";
}

/// How often each rule was used, over all models.
std::map<std::string, std::size_t> uses_of(const std::vector<OptimizeAnswer>& answers) {
  std::map<std::string, std::size_t> uses;
  for (const OptimizeAnswer& answer : answers)
    for (const UsedRule& use : answer.report.search.rules_used) uses[use.name] += use.count;
  return uses;
}

// ---- What changed in a model

/// What was read, and what was written.
struct Change {
  const OptimizeAnswer& answer;
  Graph before, after;
};

/// Costs of operators by name, before and after.
using CostsByOperator = std::map<std::string, std::pair<double, double>>;

CostsByOperator costs_by_operator(const Change& change, const OperatorCosts& costs) {
  CostsByOperator result;
  for (const OperatorSummary& summary : summarize(change.before, costs).operators)
    result[summary.name].first += summary.seconds;
  for (const OperatorSummary& summary : summarize(change.after, costs).operators)
    result[summary.name].second += summary.seconds;
  return result;
}

/// Two bars for each kind of operator, the costliest first, on one scale.
std::string operator_chart(const CostsByOperator& costs) {
  constexpr std::size_t most = 15;
  std::vector<std::pair<std::string, std::pair<double, double>>> sorted(costs.begin(), costs.end());
  const auto larger = [](const auto& entry) {
    return std::max(entry.second.first, entry.second.second);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&larger](const auto& a, const auto& b) { return larger(a) > larger(b); });
  if (sorted.empty() || larger(sorted.front()) <= 0) return "";
  const double scale = larger(sorted.front());
  const std::size_t count = std::min(most, sorted.size());
  std::string rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [name, cost] = sorted[i];
    rows += fmt::format(
        "<div><span class=\"name\">{}</span>{}<span class=\"text\">{} → {}</span></div>\n",
        html_escaped(name), bars(cost.first, cost.second, scale), duration_text(cost.first),
        duration_text(cost.second));
  }
  const std::string rest = sorted.size() > count
                               ? fmt::format("<p>{} operators that cost less are not shown.</p>\n",
                                             sorted.size() - count)
                               : "";
  return "<h3>Operators</h3>\n<p>Predicted cost of all operators of a kind, in what was read and "
         "what "
         "was written.</p>\n<div class=\"chart\">\n" +
         rows + "</div>\n" + rest;
}

/// What the search was told of the places where its graphs differ.
std::string places(const SearchFigures& search) {
  std::string rows;
  for (const RewrittenPlaces& place : search.places)
    rows += fmt::format(
        "<tr><td class=\"word\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        html_escaped(place.text), place.count, duration_text(place.predicted_saving),
        place.measured_saving == 0 ? "not timed" : duration_text(place.measured_saving));
  if (rows.empty()) return "";
  return "<h3>What the search tried</h3>\n<div class=\"wide\"><table><thead><tr><th "
         "class=\"word\">operators "
         "before and after</th><th>places</th><th>predicted saving</th><th>measured "
         "saving</th></tr>"
         "</thead><tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string pictures_of(const Change& change, const GraphDifference& difference) {
  const std::string pictures =
      changed_places(change.before, change.after, difference, {"Before", "After"});
  if (pictures.empty()) return "";
  return "<h3>Places that changed</h3>\n<p>What was there and what is there now, in color, with "
         "what it reads and what reads it. <code class=\"command\">lemma diff --html</code> shows "
         "both "
         "graphs.</p>\n" +
         pictures;
}

std::string rules_of(const OptimizeAnswer& answer) {
  std::string links;
  for (const UsedRule& rule : answer.report.search.rules_used)
    links += fmt::format("{}<a href=\"#{}\">{}</a> × {}", links.empty() ? "" : ", ",
                         html_escaped(rule.name), html_escaped(readable_rule_name(rule.name)),
                         rule.count);
  if (links.empty()) return "";
  const auto& unproved = answer.report.search.unproved;
  return "<h3>Rules used</h3>\n<p>" + links + "</p>\n" +
         (unproved.empty()
              ? ""
              : fmt::format("<p class=\"bad\">Without proof: {}. The result equals the "
                            "model only if these rules are true.</p>\n",
                            html_escaped(fmt::format("{}", fmt::join(unproved, ", ")))));
}

/// The kinds of places that there are most of: "Conv, Mul -> Conv at 40 places".
std::string changes_text(const GraphDifference& difference) {
  constexpr std::size_t most = 2;
  std::vector<std::pair<std::string, std::size_t>> kinds;  // in the order of the graphs
  for (const ChangedPlace& place : difference.places) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&place](const auto& entry) {
      return entry.first == place.text;
    });
    if (kind == kinds.end())
      kinds.emplace_back(place.text, 1);
    else
      ++kind->second;
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [text, count] : std::span(kinds).first(std::min(most, kinds.size())))
    parts.push_back(count > 1 ? fmt::format("{} at {} places", text, count) : text);
  if (kinds.size() > most) parts.push_back(fmt::format("{} other kinds", kinds.size() - most));
  std::string text = fmt::format("{}", fmt::join(parts, "; "));
  for (std::size_t at = text.find("->"); at != std::string::npos; at = text.find("->", at))
    text.replace(at, 2, "→");  // which no browser breaks
  return text;
}

/// What the page says of a model below the first screen, and what that is for the first screen.
struct Told {
  ModelSection section;
  std::string html;
};

Told tell_of(const OptimizeAnswer& answer, std::size_t number, const ReportSources& sources) {
  Told told;
  if (!is_changed(answer)) return told;
  auto before = import_model(answer.model, sources.reading),
       after = import_model(answer.output, sources.reading);
  std::string html;
  if (before && after) {
    const Change change{answer, std::move(before->graph), std::move(after->graph)};
    const GraphDifference differing = difference(change.before, change.after);
    told.section.changes = changes_text(differing);
    html = operator_chart(costs_by_operator(change, sources.costs)) + places(answer.report.search) +
           pictures_of(change, differing);
  }
  html += rules_of(answer);
  if (html.empty()) return told;
  told.section.id = fmt::format("model-{}", number);
  told.html = fmt::format(
      "<h2 id=\"{}\">{}</h2>\n<p class=\"quiet\">Read from <code>{}</code>, written to "
      "<code>{}</code>.</p>\n{}",
      told.section.id, shown_name(answer), html_escaped(answer.model), html_escaped(answer.output),
      html);
  return told;
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
        rule_pictures(rule, rule.bidirectional ? "One side" : "Before",
                      rule.bidirectional ? "The other" : "After"),
        html_escaped(readable_rule_name(rule.name)),
        sources.proofs.contains(rule.name)
            ? fmt::format("; <a href=\"#proof-{}\">proof</a>", html_escaped(rule.name))
            : "");
    if (rules.unproved().contains(rule.name)) out += "<p class=\"bad\">It has no proof.</p>\n";
    out += proof_html(sources.proofs, rule.name);
  }
  if (out.empty()) return "";
  return "<h2 id=\"rules\">Rules</h2>\n<p>Each is proved over the real numbers, unless it says "
         "otherwise; "
         "<code>lemma audit NAME</code> shows the proof, and <code>lemma-check</code> replays it."
         "</p>\n" +
         out;
}

}  // namespace

std::string html_report(const std::vector<OptimizeAnswer>& answers, const ReportSources& sources) {
  std::vector<ModelSection> sections;
  std::string below;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Told told = tell_of(answers[i], i + 1, sources);
    sections.push_back(std::move(told.section));
    below += told.html;
  }
  WebPage page;
  page.title = "Lemma: optimized models";
  page.heading =
      answers.size() == 1 ? "Optimized: " + short_name(answers.front()) : "Optimized models";
  page.body = first_screen({answers, sections, sources.proofs, sources.setup}) + figures(answers) +
              below + rule_texts(answers, sources);
  return text(page);
}

}  // namespace lemma
