#include "base/shown_text.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace lemma {

namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 1;  // in bytes
  bool is_valid = false;
};

/// The code point that the text begins with, as RFC 3629 says: no overlong forms, no surrogates.
CodePoint code_point_at(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  std::uint32_t value = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    value = value << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < least[length] || value > 0x10ffff || is_surrogate) return {};
  return {value, length, true};
}

struct Range {
  std::uint32_t first, last;
};

/// General categories Cc, Zl and Zp, and Cf but for the soft hyphen (Unicode 15).
constexpr std::array hidden = {
    Range{0x0, 0x1f},        Range{0x7f, 0x9f},       Range{0x600, 0x605},
    Range{0x61c, 0x61c},     Range{0x6dd, 0x6dd},     Range{0x70f, 0x70f},
    Range{0x890, 0x891},     Range{0x8e2, 0x8e2},     Range{0x180e, 0x180e},
    Range{0x200b, 0x200f},   Range{0x2028, 0x202e},   Range{0x2060, 0x206f},
    Range{0xfeff, 0xfeff},   Range{0xfff9, 0xfffb},   Range{0x110bd, 0x110bd},
    Range{0x110cd, 0x110cd}, Range{0x13430, 0x1343f}, Range{0x1bca0, 0x1bca3},
    Range{0x1d173, 0x1d17a}, Range{0xe0001, 0xe0001}, Range{0xe0020, 0xe007f},
};

bool is_hidden(std::uint32_t code) {
  for (const Range& range : hidden)
    if (range.first <= code && code <= range.last) return true;
  return false;
}

/// Whether the character could end or continue what it stands in. A comment is ended by "*/" or continued by a backslash
/// at the end of its line, which "??/" also stands for.
bool is_special(std::uint32_t code, ShownIn place) {
  if (place == ShownIn::comment) return code == '*' || code == '?' || code == '\\';
  return place == ShownIn::markdown && (code == '`' || code == '<');
}

std::string escape_of(std::uint32_t code) {
  if (code < 0x80) return fmt::format("\\x{:02x}", code);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

}  // namespace

std::string shown(std::string_view text, ShownIn place) {
  std::string result;
  while (!text.empty()) {
    const CodePoint code = code_point_at(text);
    const bool is_kept_end = place == ShownIn::page && code.value == '\n' && code.is_valid;
    if (!code.is_valid)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else if (!is_kept_end && (is_hidden(code.value) || is_special(code.value, place)))
      result += escape_of(code.value);
    else
      result += text.substr(0, code.length);
    text.remove_prefix(code.length);
  }
  return result;
}

}  // namespace lemma
