#include "report/web_page.h"

#include <fmt/format.h>

#include "base/shown_text.h"

namespace lemma {

namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --paper: #fff; --ink: #222; --quiet: #5f5f5f; --line: #ddd; --shade: #f6f6f4;
  --row: #eef4fa; --link: #1f5c94; --good: #2f7d5b; --bad: #a33; --before: #c9c6bd; --after: #2f7d5b;
  --stroke: #888; --input: #f4f4f0; --output: #f7dfe6; --movement: #fdf3d8; --compute: #dde9f7; --opaque: #d8d8d8;
  --taken: #f6cdc6; --added: #c4e6cc; }
@media (prefers-color-scheme: dark) { :root { --paper: #17191c; --ink: #e3e3e0; --quiet: #a3a6a8; --line: #3a3d41;
  --shade: #22252a; --row: #263241; --link: #8bbdf0; --good: #6fc79c; --bad: #f0938b; --before: #5c6066; --after: #55b088;
  --stroke: #7b8087; --input: #2a2d31; --output: #4a2c37; --movement: #453a1d; --compute: #22384f; --opaque: #43464b;
  --taken: #6d302a; --added: #22552f; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 80rem; padding: 1.2rem clamp(1rem, 4vw, 3rem) 4rem;
  color: var(--ink); background: var(--paper); overflow-wrap: break-word; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } h3 { font-size: 1.05rem; } h4 { margin: .8rem 0 .4rem; }
a { color: var(--link); }
a:focus, tr:focus, input:focus, select:focus, summary:focus { outline: 2px solid var(--link); }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; border-bottom: 1px solid var(--line); padding-bottom: .5rem; }
nav b { font-weight: 600; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; }
th, td { padding: .3rem .9rem .3rem 0; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line); }
th.word, td.word { text-align: left; } th { white-space: nowrap; } td.short { white-space: nowrap; }
td.name { min-width: 9rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } tbody tr:focus-within { background: var(--row); }
pre, code { font: 13px/1.45 ui-monospace, monospace; } code.command { display: inline-block; max-width: 100%; overflow-x: auto; white-space: nowrap; vertical-align: bottom; }
pre { background: var(--shade); padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: 1rem 0; } summary { cursor: pointer; }
.lead { font-size: 1.15rem; max-width: 60rem; }
.bars { display: flex; flex-direction: column; gap: 2px; padding-top: .3rem; min-width: 8rem; }
.bars i { display: block; height: 7px; } i.before { background: var(--before); } i.after { background: var(--after); }
.key i { display: inline-block; width: 1.2rem; height: 7px; margin: 0 .3rem .15rem 0; }
.chart { max-width: 60rem; } .chart > div { display: grid; grid-template: "name bars text" / 11rem 1fr 11rem; gap: 0 .8rem; }
.chart .bars { grid-area: bars; } .chart .text { grid-area: text; } .chart .name { grid-area: name; overflow-wrap: anywhere; }
.sides { display: flex; flex-wrap: wrap; gap: 1rem 3rem; align-items: flex-start; }
.sides > div { max-width: 100%; min-width: 0; overflow-x: auto; } svg { max-width: 100%; height: auto; }
.wide > svg { max-width: none; }
svg text { fill: var(--ink); } svg .type { fill: var(--quiet); } svg .edge { fill: none; stroke: var(--stroke); }
svg .box { stroke: var(--stroke); } .input { fill: var(--input); } .output { fill: var(--output); }
.movement { fill: var(--movement); } .compute { fill: var(--compute); } .opaque { fill: var(--opaque); }
.taken { fill: var(--taken); } .added { fill: var(--added); }
.search { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: end; margin: 1rem 0; }
.search label { display: flex; flex-direction: column; font-size: .85rem; color: var(--quiet); max-width: 100%; }
.search input, .search select { font: inherit; padding: .25rem .4rem; max-width: 100%; } .search input { width: 24rem; }
@media (max-width: 52rem) {  /* each row of the list as a few lines */
  table.list thead { display: none; }
  table.list tr { display: block; border-bottom: 1px solid var(--line); padding: .4rem 0; }
  table.list tr[hidden] { display: none; }
  table.list td { display: inline-block; border: none; padding: 0 .7rem 0 0; }
  table.list td.name, table.list td.bar { display: block; padding-right: 0; }
  td[data-label]::after { content: " " attr(data-label); color: var(--quiet); }
  .wide td { white-space: nowrap; } .wide td.word { white-space: normal; min-width: 12rem; }  /* scrolls to the side */
  .chart > div { grid-template: "name text" "bars bars" / 1fr max-content; margin-bottom: .4rem; }
}
.bad { color: var(--bad); } .good { color: var(--good); } .quiet { color: var(--quiet); }
.setup { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; font-size: .9rem; color: var(--quiet); }
.setup dd { min-width: 0; overflow-wrap: anywhere; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem 1.2rem; } dd code { overflow-wrap: anywhere; } .setup dd { margin: 0; }
kbd { border: 1px solid var(--stroke); border-radius: 3px; padding: 0 .3rem; font-size: .85em; }
@media print { .search, nav { display: none; } pre { background: none; border: 1px solid var(--line); } a { color: inherit; } }
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

std::string breakable(std::string_view name) {
  std::string result;
  for (const char letter : html_escaped(name))
    result += letter == '_' ? "_<wbr/>" : std::string(1, letter);
  return result;
}

std::string text(const WebPage& page) {
  const bool has_neighbours = !page.previous.empty() || !page.next.empty();
  const std::string script = (has_neighbours ? std::string(neighbours) : "") + page.script;
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>{}"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
      "<title>{}</title><style>{}</style></head><body>\n{}<h1>{}</h1>\n{}{}</body></html>\n",
      page_marker, html_escaped(page.title), style, navigation(page), breakable(page.heading),
      page.body, script.empty() ? "" : "<script>" + script + "</script>\n");
}

}  // namespace lemma
