#include "report/web_page.h"

#include <fmt/format.h>

#include "base/shown_text.h"

namespace lemma {

namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 80rem; padding: 1.2rem clamp(1rem, 4vw, 3rem) 4rem;
  color: #222; background: #fff; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2rem; overflow-wrap: anywhere; }
a { color: #1f5c94; } a:focus, tr:focus, input:focus, select:focus, summary:focus { outline: 2px solid #1f5c94; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; border-bottom: 1px solid #ddd; padding-bottom: .5rem; }
nav b { font-weight: 600; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; }
th, td { padding: .3rem .9rem .3rem 0; text-align: right; vertical-align: top; border-bottom: 1px solid #ddd; }
th.word, td.word { text-align: left; overflow-wrap: anywhere; }
td.short { white-space: nowrap; } td.name { min-width: 9rem; } .wide { overflow-x: auto; } tbody tr:focus-within { background: #eef4fa; }
pre, code { font: 13px/1.45 ui-monospace, monospace; }
pre { background: #f6f6f4; padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.sides { display: flex; flex-wrap: wrap; gap: 1rem 3rem; align-items: flex-start; }
.sides > div { max-width: 100%; min-width: 0; } svg { max-width: 100%; height: auto; }
.search { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: end; margin: 1rem 0; }
.search label { display: flex; flex-direction: column; font-size: .85rem; color: #555; }
.search input, .search select { font: inherit; padding: .25rem .4rem; max-width: 100%; } .search input { width: 24rem; }
@media (max-width: 52rem) {  /* each row of the list as a few lines */
  table.list thead { display: none; } table.list tr { display: block; border-bottom: 1px solid #ddd; padding: .4rem 0; }
  table.list tr[hidden] { display: none; }
  table.list td { display: inline-block; border: none; padding: 0 .7rem 0 0; } table.list td.name { display: block; }
  td[data-label]::after { content: " " attr(data-label); color: #666; }
  .wide td { white-space: nowrap; } .wide td.word { white-space: normal; min-width: 12rem; }  /* scrolls to the side */
}
.bad { color: #a33; } .good { color: #2f7d5b; } .quiet { color: #666; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem 1.2rem; } dd code { overflow-wrap: anywhere; }
kbd { border: 1px solid #bbb; border-radius: 3px; padding: 0 .3rem; font-size: .85em; }
@media print { .search, nav { display: none; } pre { background: none; border: 1px solid #ddd; } a { color: inherit; } }
)";

/// p and n open the neighbours.
constexpr std::string_view neighbours = R"(
document.addEventListener("keydown", function (event) {
  const isTyping = /INPUT|SELECT/.test(event.target.tagName);
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const link = document.querySelector('a[rel="' + ({ p: "prev", n: "next", i: "index" })[event.key] + '"]');
  if (link) link.click();
});
)";

std::string navigation(const WebPage& page) {
  std::string items;
  for (const PageLink& link : page.links) {
    const std::string label = html_escaped(link.label), file = html_escaped(link.file);
    if (link.is_here)
      items += fmt::format("<b>{}</b>\n", label);
    else
      items += fmt::format("<a href=\"{}\"{}>{}</a>\n", file,
                           file == "index.html" ? " rel=\"index\"" : "", label);
  }
  if (!page.previous.empty())
    items += fmt::format("<a href=\"{}\" rel=\"prev\">previous</a>\n", html_escaped(page.previous));
  if (!page.next.empty())
    items += fmt::format("<a href=\"{}\" rel=\"next\">next</a>\n", html_escaped(page.next));
  return items.empty() ? "" : "<nav>\n" + items + "</nav>\n";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char character : shown(text, ShownIn::page)) switch (character) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += character;
    }
  return out;
}

std::string text(const WebPage& page) {
  const bool has_neighbours = !page.previous.empty() || !page.next.empty();
  const std::string script = (has_neighbours ? std::string(neighbours) : "") + page.script;
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>{}"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
      "<title>{}</title><style>{}</style></head><body>\n{}<h1>{}</h1>\n{}{}</body></html>\n",
      page_marker, html_escaped(page.title), style, navigation(page), html_escaped(page.heading),
      page.body, script.empty() ? "" : "<script>" + script + "</script>\n");
}

}  // namespace lemma
