#pragma once
// The frame of pages: how they look, and the links between them. They need nothing but themselves, no network
// and no script to be read.

#include <string>
#include <string_view>
#include <vector>

namespace lemma {

/// Text as it stands in HTML and SVG.
std::string html_escaped(std::string_view text);

/// The same of a name that may be continued in the next line behind each underscore.
std::string breakable(std::string_view name);

struct PageLink {
  std::string file, label;
  bool is_here = false;
};

struct WebPage {
  std::string title, heading;   // as text
  std::vector<PageLink> links;  // above the heading
  /// Neighbours in the order of the index, for the keys p and n; empty: none.
  std::string previous, next;
  std::string body, script;  // as HTML and JavaScript, without the characters < and &
};

/// What every page that Lemma wrote holds, near its beginning.
inline constexpr std::string_view page_marker = "<meta name=\"generator\" content=\"lemma\"/>";

std::string text(const WebPage& page);

}  // namespace lemma
