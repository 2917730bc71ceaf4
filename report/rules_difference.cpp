#include "report/rules_difference.h"

#include <fmt/format.h>

#include "report/graph_svg.h"
#include "report/report_proofs.h"
#include "report/web_page.h"
#include "rule_language/rule_cases.h"

namespace lemma {
namespace {

/// Both sides of a typical application; empty if none is known.
std::string pictures(const Substitution& rule) {
  const auto shown = example_case(rule);
  if (!shown) return "";
  const auto left = side_as_graph(rule, rule.left, shown->inputs, shown->bindings);
  const auto right = side_as_graph(rule, rule.right, shown->inputs, shown->bindings);
  if (!left || !right) return "";
  return fmt::format(
      "<div class=\"sides\"><div><h4>Left side</h4>\n{}</div><div><h4>Right "
      "side</h4>\n{}</div></div>\n",
      graph_svg(*left), graph_svg(*right));
}

std::string section(const OnlyIn& side) {
  std::string body = fmt::format(
      "<h2>Only {}</h2>\n<p>{} of its {} rules do not follow from the other database.</p>\n",
      html_escaped(side.database), side.missing.size(), side.rules);
  for (const Substitution& rule : side.missing)
    body +=
        fmt::format("<h3>{}</h3>\n<pre>{}</pre>\n{}", html_escaped(readable_rule_name(rule.name)),
                    html_escaped(text(rule)), pictures(rule));
  return body;
}

}  // namespace

std::string rules_difference_page(std::span<const OnlyIn> sides) {
  WebPage page;
  page.title = page.heading = "What rule databases prove";
  for (const OnlyIn& side : sides) page.body += section(side);
  return text(page);
}

}  // namespace lemma
