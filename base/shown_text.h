#pragma once
// Names and other texts of model files, for people. Such a text may hold anything: characters that control a terminal,
// end a comment, or change the order in which a line is read (Unicode, UAX #9; "Trojan Source", CVE-2021-42574).

#include <string>
#include <string_view>

namespace lemma {

enum class ShownIn {
  line,      // of a terminal, or of a picture
  page,      // of several lines
  comment,   // of C, of either kind
  markdown,  // in a heading or between backquotes
};

/// The text as it can be shown there. What is no printable character is written as an escape of C, "\x1b" or "\u202e":
/// controls, characters without width, those that set the direction, and bytes that are no UTF-8. In comments and between
/// backquotes this includes the characters that would end them.
std::string shown(std::string_view text, ShownIn place = ShownIn::line);

}  // namespace lemma
