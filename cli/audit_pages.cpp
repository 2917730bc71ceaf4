#include "cli/audit_pages.h"

#include <fmt/format.h>

#include "cli/graph_svg.h"
#include "cli/proof_text.h"
#include "ir/files.h"

namespace lemma {
namespace {

constexpr std::string_view style = R"(<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .2rem .9rem .2rem 0; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child, td.word, th.word { text-align: left; vertical-align: top; }
pre { background: #f6f6f4; padding: .6rem .8rem; overflow-x: auto; }
.sides { display: flex; flex-wrap: wrap; gap: 3rem; } .bad { color: #a33; } .good { color: #2f7d5b; }
</style>)";

std::string page(std::string_view title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>{1}"
      "</head><body>\n<p><a href=\"index.html\">rules</a> &middot; <a href=\"axioms.html\">axioms"
      "</a></p>\n<h1>{0}</h1>\n{2}</body></html>\n",
      html_escaped(title), style, body);
}

std::string link(std::string_view kind, const std::string& name) {
  return fmt::format("<a href=\"{0}-{1}.html\">{1}</a>", kind, html_escaped(name));
}

std::string axiom_links(const AuditedRule& one) {
  std::string result;
  for (const auto& [name, steps] : one.axioms)
    result += fmt::format("{}{} ({})", result.empty() ? "" : ", ", link("axiom", name), steps);
  return result;
}

std::string verdict(const AuditedRule& one) {
  return one.failure.empty() ? "<span class=\"good\">proved</span>"
                             : "<span class=\"bad\">refused</span>";
}

std::string index_page(const std::vector<AuditedRule>& rules) {
  std::string rows;
  std::size_t held = 0;
  for (const AuditedRule& one : rules) {
    held += one.failure.empty() ? 1 : 0;
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"word\">{}</td><td>{}</td><td>{}</td><td>{:.1f}</td>"
        "<td class=\"word\">{}</td><td class=\"word\">{}</td></tr>\n",
        link("rule", one.rule->name), verdict(one), one.cases.size(), one.steps, one.seconds * 1e3,
        one.rounding, one.failure.empty() ? axiom_links(one) : html_escaped(one.failure));
  }
  return page("Rules and their proofs",
              fmt::format("<p>{} of {} certificates hold, replayed when this page was written. "
                          "Equality is over the real numbers; the class says how a rule may "
                          "change floating-point results.</p>\n<table><tr><th>rule</th>"
                          "<th class=\"word\">verdict</th><th>cases</th><th>steps</th>"
                          "<th>replayed, ms</th><th class=\"word\">class</th>"
                          "<th class=\"word\">axioms (steps)</th></tr>\n{}</table>\n",
                          held, rules.size(), rows));
}

std::string conditions(const Substitution& rule) {
  const std::string whole = text(rule);
  const std::size_t begin = whole.find("\n  where ");
  if (begin == std::string::npos) return "none beyond the shapes and ranges declared";
  const std::size_t at = begin + std::string_view("\n  where ").size();
  return whole.substr(at, whole.find('\n', at) - at);
}

Result<std::string> rule_page(const AuditedRule& one) {
  std::string body = fmt::format("<pre>{}</pre>\n", html_escaped(text(*one.rule)));
  if (!one.failure.empty()) {
    body += fmt::format("<p class=\"bad\">Refused: {}</p>\n", html_escaped(one.failure));
    return page(one.rule->name, body);
  }
  const checker::Certificate& certificate = *one.certificate;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<RuleCase> cases, required_cases(*one.rule));
  const RuleCase& shown = cases.at(one.shown_case);
  LEMMA_ASSIGN_OR_RETURN(const Graph left,
                         side_as_graph(*one.rule, one.rule->left, shown.inputs, shown.bindings));
  LEMMA_ASSIGN_OR_RETURN(const Graph right,
                         side_as_graph(*one.rule, one.rule->right, shown.inputs, shown.bindings));
  LEMMA_ASSIGN_OR_RETURN(const std::string proof, case_text(certificate, cases, one.shown_case));
  body += fmt::format(
      "<p>{}: {} cases, {} chains, {} steps. Conditions: {}. An instance: {}. Class: {}.</p>\n"
      "<p>Rests on {}.</p>\n",
      verdict(one), cases.size(), certificate.chains.size(), one.steps,
      html_escaped(conditions(*one.rule)),
      certificate.witness.empty() ? "any" : html_escaped(certificate.witness), one.rounding,
      one.axioms.empty() ? "nothing: both sides are one term" : axiom_links(one));
  body += fmt::format(
      "<div class=\"sides\"><div><h2>Left side</h2>\n{}</div><div><h2>Right side</h2>\n{}</div>"
      "</div>\n<h2>Steps in one of the cases</h2>\n<pre>{}</pre>\n",
      graph_svg(left), graph_svg(right), html_escaped(proof));
  std::string rows;
  for (const std::string& line : one.cases) rows += html_escaped(line) + "\n";
  body += fmt::format("<details><summary>All cases</summary><pre>{}</pre></details>\n", rows);
  return page(one.rule->name, body);
}

std::vector<const AuditedRule*> falling(const std::vector<AuditedRule>& rules,
                                        const std::string& axiom) {
  std::vector<const AuditedRule*> result;
  for (const AuditedRule& one : rules)
    if (one.axioms.contains(axiom)) result.push_back(&one);
  return result;
}

std::string class_of(const std::string& axiom, const RoundingTable& rounding) {
  return std::string(name(worst_of(std::vector<std::string>{axiom}, rounding)));
}

std::string axiom_page(const Substitution& axiom, const std::vector<AuditedRule>& rules,
                       const RoundingTable& rounding) {
  std::string rows;
  const auto uses = falling(rules, axiom.name);
  for (const AuditedRule* one : uses)
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        link("rule", one->rule->name), one->axioms.at(axiom.name), one->steps);
  return page(axiom.name,
              fmt::format("<pre>{}</pre>\n<p>Class: {}.</p>\n<h2>Dependent proofs</h2>\n"
                          "<p>{} of {} proofs.</p>\n<table><tr><th>rule</th><th>steps with it</th>"
                          "<th>of</th></tr>\n{}</table>\n",
                          html_escaped(text(axiom)), class_of(axiom.name, rounding), uses.size(),
                          rules.size(), rows));
}

std::string axioms_page(const std::vector<Substitution>& axioms,
                        const std::vector<AuditedRule>& rules, const RoundingTable& rounding) {
  std::string rows;
  for (const Substitution& axiom : axioms)
    rows += fmt::format("<tr><td>{}</td><td class=\"word\">{}</td><td>{}</td></tr>\n",
                        link("axiom", axiom.name), class_of(axiom.name, rounding),
                        falling(rules, axiom.name).size());
  return page("Axioms", fmt::format("<p>{} axioms; each is proved from the operators' definitions "
                                    "for all sizes (lemma rules verify --axioms).</p>\n"
                                    "<table><tr><th>axiom</th><th class=\"word\">class</th>"
                                    "<th>dependent proofs</th></tr>\n{}</table>\n",
                                    axioms.size(), rows));
}

}  // namespace

Result<void> write_audit_pages(const std::filesystem::path& folder,
                               const std::vector<AuditedRule>& rules,
                               const std::vector<Substitution>& axioms,
                               const RoundingTable& rounding) {
  LEMMA_RETURN_IF_ERROR(make_folder(folder));
  std::vector<std::pair<std::string, std::string>> pages = {
      {"index.html", index_page(rules)}, {"axioms.html", axioms_page(axioms, rules, rounding)}};
  for (const AuditedRule& one : rules) {
    LEMMA_ASSIGN_OR_RETURN(const std::string contents, rule_page(one));
    pages.emplace_back(fmt::format("rule-{}.html", one.rule->name), contents);
  }
  for (const Substitution& axiom : axioms)
    pages.emplace_back(fmt::format("axiom-{}.html", axiom.name),
                       axiom_page(axiom, rules, rounding));
  return write_files_atomically(folder, pages);
}

}  // namespace lemma
