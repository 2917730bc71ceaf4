#pragma once
// Numbers and letters in texts, by one rule for all: the functions of the C library follow the locale of the process,
// which belongs to the program that Lemma is part of, and read "0.5" as 0 where the decimal point is a comma.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace lemma {

constexpr bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }  // 0 to 9 alone
/// Of either case; no letters outside ASCII.
constexpr bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// Of ASCII, whatever the locale.
constexpr bool is_ascii_letter_or_digit(char c) { return is_ascii_digit(c) || is_ascii_letter(c); }
/// The letters a to f count in either case.
constexpr bool is_ascii_hexadecimal_digit(char c) {
  return is_ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
/// All but A to Z stay as they are.
constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// The number that the text begins with, after blanks, which are taken off with it: "-1.5e3", "inf", "nan".
template <typename T>
std::optional<T> take_number(std::string_view& text) {
  std::string_view rest = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  T value{};
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  text = rest;
  return value;
}

/// The number that the text is.
template <typename T>
std::optional<T> number_of(std::string_view text) {
  const auto value = take_number<T>(text);
  return text.empty() ? value : std::nullopt;
}

/// The number of a hexadecimal floating-point literal of C++, "0x1.8p+1".
inline std::optional<double> number_of_hexadecimal(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + 2, last, value, std::chars_format::hex);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

/// A finite number as such a literal.
inline std::string hexadecimal_text(double value) {
  char digits[32];
  const auto [end, error] =
      std::to_chars(digits, digits + sizeof(digits), std::abs(value), std::chars_format::hex);
  return (std::signbit(value) ? "-0x" : "0x") + std::string(digits, end);
}

}  // namespace lemma
