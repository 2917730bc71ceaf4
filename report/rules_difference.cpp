#include "report/rules_difference.h"

#include <fmt/format.h>

#include "report/report_proofs.h"
#include "report/rule_picture.h"
#include "report/web_page.h"

namespace lemma {
namespace {

std::string section(const OnlyIn& side) {
  std::string body = fmt::format(
      "<h2>Only {}</h2>\n<p>{} of its {} rules do not follow from the other database.</p>\n",
      html_escaped(side.database), side.missing.size(), side.rules);
  for (const Substitution& rule : side.missing)
    body +=
        fmt::format("<h3>{}</h3>\n<pre>{}</pre>\n{}", html_escaped(readable_rule_name(rule.name)),
                    html_escaped(text(rule)), rule_pictures(rule, "Left side", "Right side"));
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
