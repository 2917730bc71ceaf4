#include "rule_language/rounding.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include "rule_language/rule_database.h"

namespace lemma {

namespace {

constexpr std::array<std::string_view, 4> names = {"bitwise", "reassociation", "distributive",
                                                   "rounding"};

}  // namespace

std::string_view name(RoundingClass rounding) { return names[static_cast<std::size_t>(rounding)]; }

std::optional<RoundingClass> rounding_class_named(std::string_view name) {
  const auto position = std::find(names.begin(), names.end(), name);
  if (position == names.end()) return std::nullopt;
  return static_cast<RoundingClass>(position - names.begin());
}

std::string unknown_rounding_class(std::string_view name) {
  if (name == "unsafe") return "the class 'unsafe' is now named 'rounding'";
  return fmt::format("'{}' is none of the classes {}", name, fmt::join(names, ", "));
}

Result<RoundingTable> parse_rounding_table(std::string_view text, std::string_view file) {
  RoundingTable table;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string axiom, rounding, more;
    if (!(words >> axiom)) continue;
    const auto error = [&](std::string_view what) {
      return bad_input(fmt::format("{}:{}: {}", file, number, what));
    };
    if (!(words >> rounding) || words >> more) return error("a line has an axiom and its class");
    const auto value = rounding_class_named(rounding);
    if (!value) return error(unknown_rounding_class(rounding));
    if (!table.emplace(axiom, *value).second)
      return error(fmt::format("axiom '{}' is named twice", axiom));
  }
  return table;
}

Result<RoundingTable> read_rounding_table(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "axioms.rounding";
  if (!std::filesystem::exists(file)) return RoundingTable();
  LEMMA_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
  return parse_rounding_table(text, file.string());
}

RoundingClass worst_of(std::span<const std::string> axioms, const RoundingTable& table) {
  RoundingClass worst = RoundingClass::bitwise;
  for (const std::string& axiom : axioms) {
    const auto entry = table.find(axiom);
    worst = std::max(worst, entry == table.end() ? RoundingClass::rounding : entry->second);
  }
  return worst;
}

std::string_view class_of_certificate(std::string_view certificate) {
  constexpr std::string_view keyword = "\nclass ";
  const std::size_t at = certificate.find(keyword);
  if (at == std::string_view::npos) return "";
  certificate.remove_prefix(at + keyword.size());
  return certificate.substr(0, certificate.find('\n'));
}

}  // namespace lemma
