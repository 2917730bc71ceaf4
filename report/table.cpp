#include "report/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/shown_text.h"

namespace lemma {

Table::Table(std::vector<std::string> headings, std::vector<Align> alignment)
    : headings_(std::move(headings)), alignment_(std::move(alignment)) {}

namespace {

/// Columns on the screen: code points, since names may be UTF-8.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = shown(cell);
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(headings_.size(), 0);
  auto widen = [&widths](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]));
  };
  widen(headings_);
  for (const auto& row : rows_) widen(row);
  std::string result;
  auto print = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      if (i > 0) line += "  ";
      line += alignment_[i] == Align::right ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  };
  print(headings_);
  std::vector<std::string> rule;
  for (const std::size_t width : widths) rule.emplace_back(width, '-');
  print(rule);
  for (const auto& row : rows_) print(row);
  return result;
}

std::string with_prefix(double value) {
  constexpr std::array<std::string_view, 5> prefixes = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  if (prefix == 0) return fmt::format("{:.0f}", value);
  return three_digits(value) + std::string(prefixes.at(prefix));
}

std::string duration_text(double seconds) {
  const double size = std::abs(seconds);  // a saving may be negative
  if (size >= 0.9995) return three_digits(seconds) + " s";
  if (size >= 0.9995e-3) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds * 1e6) + " us";
}

std::string change_text(double before, double after) {
  if (before <= 0) return "";
  const double change = (after - before) / before * 100;
  if (before == after) return "same";
  // A small change is not shown as none.
  return std::abs(change) < 0.05 ? fmt::format("{:+.1g}%", change)
                                 : fmt::format("{:+.1f}%", change);
}

}  // namespace lemma
