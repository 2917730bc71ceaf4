#include "report/audit_index.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/number_text.h"
#include "ir/operator.h"
#include "report/web_page.h"

namespace lemma {
namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ascii_lower);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// What a search looks into.
std::string searched_text(const AuditedRule& audited) {
  std::string result = text(*audited.rule);
  for (const auto& [name, steps] : audited.axioms) result += " " + name;
  return lower_case(std::move(result));
}

std::string row(const AuditedRule& audited) {
  const std::string name = html_escaped(audited.rule->name),
                    operators = fmt::format("{}", fmt::join(operators_of(*audited.rule), " "));
  const bool holds = audited.failure.empty();
  return fmt::format(
      "<tr data-class=\"{}\" data-operators=\"{}\" data-text=\"{}\"><td class=\"word name\">"
      "<a href=\"rule-{}.html\">{}</a></td><td class=\"word short {}\">{}</td>"
      "<td class=\"word short\">{}</td>"
      "<td class=\"word\">{}</td><td data-label=\"cases\">{}</td><td data-label=\"steps\">{}</td>"
      "<td data-label=\"axioms\">{}</td></tr>\n",
      audited.rounding, operators, html_escaped(searched_text(audited)), name,
      breakable(audited.rule->name), holds ? "good" : "bad", holds ? "proved" : "refused",
      audited.rounding, operators, audited.cases.size(), audited.steps, audited.axioms.size());
}

template <typename Words>
std::string options(const Words& words) {
  std::string result = "<option value=\"\">all</option>";
  for (const auto& word : words) result += fmt::format("<option>{}</option>", word);
  return result;
}

// Conditions are written so that the page stays well-formed XML: without the characters for "less" and "and".
constexpr std::string_view script = R"(
(function () {
  const find = document.querySelector.bind(document);
  const rows = Array.from(document.querySelectorAll("tbody tr"));
  const fields = { q: find("#q"), class: find("#class"), operator: find("#operator") };
  const shown = function () { return rows.filter(function (row) { return !row.hidden; }); };

  function fits(row, words) {
    const data = row.dataset;
    return [words.every(function (word) { return data.text.includes(word); }),
            ["", data.class].includes(fields.class.value),
            ["", ...data.operators.split(" ")].includes(fields.operator.value)].every(Boolean);
  }
  function apply() {
    const words = fields.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach(function (row) { row.hidden = !fits(row, words); });
    find("#count").textContent = shown().length + " of " + rows.length + " rules";
    const state = new URLSearchParams();
    Object.entries(fields).forEach(function (entry) { if (entry[1].value) state.set(entry[0], entry[1].value); });
    history.replaceState(null, "", state.toString() ? "#" + state : "#");
  }
  function restore() {
    const state = new URLSearchParams(location.hash.slice(1));
    Object.entries(fields).forEach(function (entry) { entry[1].value = state.get(entry[0]) || ""; });
    apply();
  }
  function move(by) {
    const links = shown().map(function (row) { return row.querySelector("a"); });
    const next = links.indexOf(document.activeElement) + by;
    const link = links[Math.max(0, Math.min(links.length - 1, next))];
    if (link) link.focus();
  }
  const keys = {
    "/": function () { fields.q.focus(); fields.q.select(); },
    j: function () { move(1); }, ArrowDown: function () { move(1); },
    k: function () { move(-1); }, ArrowUp: function () { move(-1); },
    Escape: function () { Object.values(fields).forEach(function (field) { field.value = ""; }); apply(); }
  };
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tag = event.target.tagName;
    const everywhere = tag === "INPUT" ? ["ArrowDown", "Escape"] : tag === "SELECT" ? ["Escape"] : Object.keys(keys);
    if (!everywhere.includes(event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  Object.values(fields).forEach(function (field) { field.addEventListener("input", apply); });
  window.addEventListener("hashchange", restore);
  restore();
})();
)";

}  // namespace

std::set<std::string> operators_of(const Substitution& rule) {
  std::set<std::string> result;
  for (const RuleTerm& term : rule.terms)
    if (!term.is_input) result.emplace(record(term.op).name);
  return result;
}

std::string audit_index_body(const std::vector<AuditedRule>& rules) {
  std::string rows;
  std::size_t held = 0;
  std::set<std::string> operators, classes;
  for (const AuditedRule& audited : rules) {
    held += audited.failure.empty() ? 1 : 0;
    operators.merge(operators_of(*audited.rule));
    classes.emplace(audited.rounding);
    rows += row(audited);
  }
  return fmt::format(
      "<p>{} of {} certificates hold, replayed when these pages were written. Equality is over the "
      "real numbers; the class says how a rule may change floating-point results.</p>\n"
      "<div class=\"search\"><label>Names, texts and axioms contain<input id=\"q\" type=\"search\" "
      "autocomplete=\"off\"/></label><label>Class<select id=\"class\">{}</select></label>"
      "<label>Operator<select id=\"operator\">{}</select></label>"
      "<span id=\"count\" aria-live=\"polite\">{} rules</span></div>\n"
      "<p class=\"quiet\"><kbd>/</kbd> search, <kbd>j</kbd> and <kbd>k</kbd> or the arrows go down "
      "and up, <kbd>Enter</kbd> opens, <kbd>Esc</kbd> shows all; on the page of a rule "
      "<kbd>n</kbd> "
      "and <kbd>p</kbd> open its neighbours and <kbd>i</kbd> this list.</p>\n"
      "<table class=\"list\"><thead><tr><th class=\"word\">rule</th><th class=\"word\">verdict</th>"
      "<th class=\"word\">class</th><th class=\"word\">operators</th><th>cases</th><th>steps</th>"
      "<th>axioms</th></tr></thead><tbody>\n{}</tbody></table>\n",
      held, rules.size(), options(classes), options(operators), rules.size(), rows);
}

std::string audit_index_script() { return std::string(script); }

}  // namespace lemma
