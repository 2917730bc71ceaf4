#include "base/quoted.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace lemma {

std::string quote(std::string_view value) {
  std::string result = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\')
      result += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result + "\"";
}

std::optional<std::string> unquote(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return std::nullopt;
    if (text[i] != '\\') {
      result += text[i];
    } else if (i + 3 < text.size() && text[i + 1] == 'x') {
      unsigned value = 0;
      const auto [end, error] = std::from_chars(&text[i + 2], &text[i + 2] + 2, value, 16);
      if (error != std::errc() || end != &text[i + 2] + 2) return std::nullopt;
      result += static_cast<char>(value);
      i += 3;
    } else if (i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\')) {
      result += text[++i];
    } else {
      return std::nullopt;
    }
  }
  return result;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '\'';
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && (name.front() < '0' || name.front() > '9') &&
         std::all_of(name.begin(), name.end(), is_name_character);
}

std::vector<std::string_view> list_items(std::string_view text) {
  std::vector<std::string_view> result;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth > 0 || text.substr(i, 2) != ", ") continue;
      result.push_back(text.substr(begin, i - begin));
      begin = i + 2;
    }
  }
  if (!text.empty()) result.push_back(text.substr(begin));
  return result;
}

Result<std::vector<std::string_view>> named_values(std::string_view text,
                                                   const std::vector<std::string>& names) {
  std::vector<std::string_view> values = list_items(text);
  if (values.size() != names.size())
    return bad_input(fmt::format("{} values are given for {} names", values.size(), names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!values[i].starts_with(names[i] + "="))
      return bad_input(fmt::format("expected a value for '{}', found '{}'", names[i], values[i]));
    values[i].remove_prefix(names[i].size() + 1);
  }
  return values;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  while (true) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    result.push_back(text.substr(0, blank));
    if (blank == text.size()) return result;
    text.remove_prefix(blank + 1);
  }
}

}  // namespace lemma
