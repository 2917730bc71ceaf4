#include "report/audit_pages.h"

#include <fmt/format.h>

#include "outputs/files.h"
#include "outputs/plan.h"
#include "report/audit_index.h"
#include "report/graph_svg.h"
#include "report/proof_text.h"
#include "report/web_page.h"

namespace lemma {
namespace {

/// A page below the links to the lists; `here` is the file of one of these, or another.
WebPage framed(std::string title, std::string_view here) {
  WebPage page;
  page.title = title + " - Lemma";
  page.heading = std::move(title);
  for (const auto& [file, label] :
       {std::pair("index.html", "rules"), {"axioms.html", "axioms"}, {"refuted.html", "refuted"}})
    page.links.push_back({file, label, file == here});
  return page;
}

std::string link(std::string_view kind, const std::string& name) {
  return fmt::format("<a href=\"{}-{}.html\">{}</a>", kind, html_escaped(name), breakable(name));
}

std::string axiom_links(const AuditedRule& audited) {
  std::string result;
  for (const auto& [name, steps] : audited.axioms)
    result += fmt::format("{}{} ({})", result.empty() ? "" : ", ", link("axiom", name), steps);
  return result;
}

std::string conditions(const Substitution& rule) {
  const std::string whole = text(rule);
  const std::size_t begin = whole.find("\n  where ");
  if (begin == std::string::npos) return "none beyond the shapes and ranges declared";
  const std::size_t at = begin + std::string_view("\n  where ").size();
  return whole.substr(at, whole.find('\n', at) - at);
}

/// The text of a proof with links at its steps.
std::string linked_steps(const std::string& proof) {
  std::string result;
  for (std::size_t at = 0; at < proof.size();) {
    const std::size_t end = std::min(proof.find('\n', at), proof.size());
    const std::string line = proof.substr(at, end - at);
    const std::size_t colon = line.find(": "), comma = line.find(", ");
    if (line.starts_with("  step ") && colon < comma && comma != std::string::npos)
      result += html_escaped(line.substr(0, colon + 2)) +
                link("axiom", line.substr(colon + 2, comma - colon - 2)) +
                html_escaped(line.substr(comma));
    else
      result += html_escaped(line);
    result += "\n";
    at = end + 1;
  }
  return result;
}

std::string pieces(const std::vector<verifier::IndexCase::Piece>& pieces) {
  std::string result;
  for (const verifier::IndexCase::Piece& piece : pieces)
    result += fmt::format("<dd><code>{}</code>{}</dd>", html_escaped(piece.value),
                          piece.where.empty() ? ""
                                              : " <span class=\"quiet\">where <code>" +
                                                    html_escaped(piece.where) + "</code></span>");
  return result;
}

/// The proof from the operators' definitions, of one case.
std::string index_proof(const AuditedRule& audited) {
  const std::string record = audited.index_on_record
                                 ? "All cases are on record as proved."
                                 : "<span class=\"bad\">There is no record of this proof.</span>";
  const verifier::IndexCase& shown = audited.index_case;
  if (!shown.objection.empty())
    return fmt::format("<p>{} The case {} cannot be shown: {}.</p>\n", record,
                       html_escaped(audited.index_case_text), html_escaped(shown.objection));
  std::string steps;
  for (const std::string& fact : shown.hypotheses)
    steps += fmt::format("<dd><code>{}</code></dd>", html_escaped(fact));
  steps = "<dt>Supposed, because the left side is well typed</dt>" +
          (steps.empty() ? "<dd>nothing</dd>" : steps);
  for (std::size_t i = 0; i < shown.outputs.size(); ++i) {
    const verifier::IndexCase::Output& output = shown.outputs[i];
    const std::string range =
        output.range.empty() ? "" : " where <code>" + html_escaped(output.range) + "</code>";
    steps += fmt::format("<dt>Element of output {} of the left side{}</dt>{}", i, range,
                         pieces(output.left));
    steps += fmt::format("<dt>The same of the right side</dt>{}", pieces(output.right));
  }
  return fmt::format(
      "<p>{} Elements of the inputs are <code>x0[...]</code>, <code>x1[...]</code>, ... in their "
      "order. The case {}, proved again when this page was written, for all sizes:</p>\n"
      "<dl>{}<dt>Both are equal for all values of the inputs, and what the right side needs to be "
      "defined is defined on the left.</dt></dl>\n",
      record,
      audited.index_case_text.empty() ? "without choices" : html_escaped(audited.index_case_text),
      steps);
}

std::string facts(const AuditedRule& audited, std::size_t cases) {
  std::string operators;
  for (const std::string& name : operators_of(*audited.rule))
    operators += fmt::format("{}<a href=\"index.html#operator={}\">{}</a>",
                             operators.empty() ? "" : ", ", name, name);
  return fmt::format(
      "<p><span class=\"good\">Proved</span> twice: {} cases, {} chains, {} steps. Class: {}. "
      "Conditions: {}. An instance: {}. Operators: {}.</p>\n<p>Rests on {}.</p>\n",
      cases, audited.certificate->chains.size(), audited.steps, audited.rounding,
      html_escaped(conditions(*audited.rule)),
      audited.certificate->witness.empty() ? "any" : html_escaped(audited.certificate->witness),
      operators,
      audited.axioms.empty() ? "nothing: both sides are one term" : axiom_links(audited));
}

Result<std::string> rule_body(const AuditedRule& audited) {
  std::string body = fmt::format("<pre>{}</pre>\n", html_escaped(text(*audited.rule)));
  if (!audited.failure.empty())
    return body + fmt::format("<p class=\"bad\">Refused: {}</p>\n", html_escaped(audited.failure));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<RuleCase> cases, required_cases(*audited.rule));
  const RuleCase& shown = cases.at(audited.shown_case);
  LEMMA_ASSIGN_OR_RETURN(const Graph left, side_as_graph(*audited.rule, audited.rule->left,
                                                         shown.inputs, shown.bindings));
  LEMMA_ASSIGN_OR_RETURN(const Graph right, side_as_graph(*audited.rule, audited.rule->right,
                                                          shown.inputs, shown.bindings));
  LEMMA_ASSIGN_OR_RETURN(const std::string proof,
                         case_text(*audited.certificate, cases, audited.shown_case));
  body += facts(audited, cases.size());
  body += fmt::format(
      "<div class=\"sides\"><div><h2>Left side</h2>\n{}</div><div><h2>Right side</h2>\n{}</div>"
      "</div>\n<h2>First proof: from the axioms</h2>\n<p>The steps of one of the cases:</p>\n"
      "<pre>{}</pre>\n",
      graph_svg(left), graph_svg(right), linked_steps(proof));
  std::string rows;
  for (const std::string& line : audited.cases) rows += html_escaped(line) + "\n";
  body += fmt::format("<details><summary>All {} cases</summary><pre>{}</pre></details>\n",
                      audited.cases.size(), rows);
  return body + "<h2>Second proof: from the operators' definitions</h2>\n" + index_proof(audited);
}

std::vector<const AuditedRule*> falling(const std::vector<AuditedRule>& rules,
                                        const std::string& axiom) {
  std::vector<const AuditedRule*> result;
  for (const AuditedRule& audited : rules)
    if (audited.axioms.contains(axiom)) result.push_back(&audited);
  return result;
}

std::string class_of(const std::string& axiom, const RoundingTable& rounding) {
  return std::string(name(worst_of(std::vector<std::string>{axiom}, rounding)));
}

std::string axiom_body(const Substitution& axiom, const std::vector<AuditedRule>& rules,
                       const RoundingTable& rounding) {
  std::string rows;
  const auto uses = falling(rules, axiom.name);
  for (const AuditedRule* audited : uses)
    rows += fmt::format(
        "<tr><td class=\"word name\">{}</td><td data-label=\"steps with it\">{}</td>"
        "<td data-label=\"steps\">{}</td></tr>\n",
        link("rule", audited->rule->name), audited->axioms.at(axiom.name), audited->steps);
  return fmt::format(
      "<pre>{}</pre>\n<p>Class: {}.</p>\n<h2>Dependent proofs</h2>\n<p>{} of {} proofs.</p>\n"
      "<table class=\"list\"><thead><tr><th class=\"word\">rule</th><th>steps with "
      "it</th><th>of</th></tr>"
      "</thead>"
      "<tbody>\n{}</tbody></table>\n",
      html_escaped(text(axiom)), class_of(axiom.name, rounding), uses.size(), rules.size(), rows);
}

std::string axioms_body(const std::vector<Substitution>& axioms,
                        const std::vector<AuditedRule>& rules, const RoundingTable& rounding) {
  std::string rows;
  for (const Substitution& axiom : axioms)
    rows += fmt::format(
        "<tr><td class=\"word name\">{}</td><td class=\"word short\">{}</td>"
        "<td data-label=\"dependent proofs\">{}</td></tr>\n",
        link("axiom", axiom.name), class_of(axiom.name, rounding),
        falling(rules, axiom.name).size());
  return fmt::format(
      "<p>{} axioms; each is proved from the operators' definitions for all sizes "
      "(<code class=\"command\">lemma rules verify --axioms</code>).</p>\n<table class=\"list\">"
      "<thead><tr><th class=\"word\">axiom</th><th class=\"word\">class</th>"
      "<th>dependent proofs</th></tr></thead><tbody>\n{}</tbody></table>\n",
      axioms.size(), rows);
}

std::string refuted_body(const std::vector<RefutedRule>& refuted) {
  std::string body = fmt::format(
      "<p>{} candidates that enumeration or others proposed, and inputs on which their sides "
      "differ. Those of counterexample files were evaluated when this page was written "
      "(<code class=\"command\">lemma audit --counterexample</code>).</p>\n",
      refuted.size());
  for (const RefutedRule& refuted_rule : refuted) {
    body += fmt::format("<h2>{}</h2>\n<pre>{}</pre>\n",
                        breakable(refuted_rule.text.substr(5, refuted_rule.text.find('\n') - 5)),
                        html_escaped(refuted_rule.text));
    if (!refuted_rule.values.empty())
      body += fmt::format("<p>At {}:</p>\n", html_escaped(refuted_rule.values));
    std::string inputs;
    for (const std::string& input : refuted_rule.inputs) inputs += html_escaped(input) + "\n";
    if (!inputs.empty()) body += "<pre>" + inputs + "</pre>\n";
    body += fmt::format("<p><span class=\"bad\">{}</span> <span class=\"quiet\">({})</span></p>\n",
                        html_escaped(refuted_rule.reason), html_escaped(refuted_rule.source));
  }
  return body;
}

using Pages = std::vector<std::pair<std::string, std::string>>;

void add_lists(Pages& pages, const std::vector<AuditedRule>& rules,
               const std::vector<Substitution>& axioms, const std::vector<RefutedRule>& refuted,
               const RoundingTable& rounding) {
  WebPage index = framed("Rules and their proofs", "index.html");
  index.body = audit_index_body(rules);
  index.script = audit_index_script();
  pages.emplace_back("index.html", text(index));
  WebPage list = framed("Axioms", "axioms.html");
  list.body = axioms_body(axioms, rules, rounding);
  pages.emplace_back("axioms.html", text(list));
  WebPage differing = framed("Refuted candidates", "refuted.html");
  differing.body = refuted_body(refuted);
  pages.emplace_back("refuted.html", text(differing));
}

std::string file_of(const AuditedRule& audited) {
  return fmt::format("rule-{}.html", audited.rule->name);
}

}  // namespace

Result<void> write_audit_pages(const std::filesystem::path& folder,
                               const std::vector<AuditedRule>& rules,
                               const std::vector<Substitution>& axioms,
                               const std::vector<RefutedRule>& refuted,
                               const RoundingTable& rounding) {
  LEMMA_RETURN_IF_ERROR(make_folder(folder));
  Pages pages;
  add_lists(pages, rules, axioms, refuted, rounding);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    WebPage page = framed(rules[i].rule->name, "");
    LEMMA_ASSIGN_OR_RETURN(page.body, rule_body(rules[i]));
    if (i > 0) page.previous = file_of(rules[i - 1]);
    if (i + 1 < rules.size()) page.next = file_of(rules[i + 1]);
    pages.emplace_back(file_of(rules[i]), text(page));
  }
  for (const Substitution& axiom : axioms) {
    WebPage page = framed(axiom.name, "");
    page.body = axiom_body(axiom, rules, rounding);
    pages.emplace_back(fmt::format("axiom-{}.html", axiom.name), text(page));
  }
  for (const auto& [name, page] : pages)
    if (!is_free(folder / name, page_marker))
      return bad_input(
          fmt::format("{}: lemma audit did not write it, and needs its name; give another folder",
                      (folder / name).string()));
  return write_files_atomically(folder, pages);
}

}  // namespace lemma
