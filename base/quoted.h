#pragma once
// Quoted strings of the textual form: "…" with \" \\ and \xNN for all that is not printable ASCII.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lemma {

std::string quote(std::string_view value);
/// Inverse of quote(); nothing if the text is not exactly one quoted string.
std::optional<std::string> unquote(std::string_view text);

/// Whether a name can stand without quotes: letters, digits, '_', '.' and '\'', no digit first.
bool is_plain_name(std::string_view name);
bool is_name_character(char c);

/// The parts between ", " that stand outside brackets and quotes; none of an empty text.
std::vector<std::string_view> list_items(std::string_view text);

/// The values in "NAME=VALUE, ...": one for each name, in this order.
Result<std::vector<std::string_view>> named_values(std::string_view text,
                                                   const std::vector<std::string>& names);
/// The parts between single blanks, also empty ones.
std::vector<std::string_view> words(std::string_view text);

}  // namespace lemma
