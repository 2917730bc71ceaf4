#include "report/rule_picture.h"

#include <fmt/format.h>

#include "report/graph_svg.h"
#include "report/web_page.h"
#include "rule_language/rule_cases.h"

namespace lemma {

std::string rule_pictures(const Substitution& rule, std::string_view left, std::string_view right) {
  const auto example = example_case(rule);
  if (!example) return "";
  const auto before = side_as_graph(rule, rule.left, example->inputs, example->bindings);
  const auto after = side_as_graph(rule, rule.right, example->inputs, example->bindings);
  if (!before || !after) return "";
  return fmt::format(
      "<div class=\"sides\"><div><h4>{}</h4>{}</div><div><h4>{}</h4>{}</div></div>\n",
      html_escaped(left), graph_svg(*before), html_escaped(right), graph_svg(*after));
}

}  // namespace lemma
