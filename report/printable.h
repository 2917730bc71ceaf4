#pragma once
// Lines for people, on a terminal or in a table.

#include <string>
#include <string_view>

namespace lemma {

/// The text as it can be shown in a line of a terminal (base/shown_text.h), and of bounded length.
std::string printable(std::string_view text);
/// "lemma: MODEL: MESSAGE", with the name of the model once.
std::string error_line(std::string_view model, std::string_view message);

}  // namespace lemma
