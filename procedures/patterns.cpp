// RegexFullMatch: whether strings match a regular expression as a whole. ONNX has the syntax of RE2. What std::regex has
// beyond it (looking ahead, references to groups) and what it lacks is refused.

#include <array>
#include <regex>

#include <fmt/format.h>

#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

using Values = std::vector<RunTimeValue>;

// std::regex calls itself for each character.
constexpr std::size_t longest_string = 4096;

/// What stands in the pattern that means another thing in RE2 than in std::regex, or nothing at all; empty if there is none.
std::string foreign_syntax(std::string_view pattern) {
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    if (static_cast<unsigned char>(pattern[i]) >= 128) return "a letter outside ASCII";
    if (pattern[i] == '\\') {
      const char next = rest.size() > 1 ? rest[1] : '\0';
      const bool is_letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
      const bool is_known = std::string_view("dDwWsSbBfnrtv").find(next) != std::string_view::npos;
      if ((is_letter && !is_known) || (next >= '0' && next <= '9'))
        return fmt::format("'\\{}'", next);
      ++i;
    } else if (in_class) {
      in_class = pattern[i] != ']';
    } else if (pattern[i] == '[') {
      in_class = true;
      if (rest.size() > 1 && rest[1] == '^') ++i;
      // A bracket that stands first is a member in RE2, and the end of the class in std::regex.
      if (i + 1 < pattern.size() && pattern[i + 1] == ']') return "'[]'";
    } else if (rest.starts_with("(?") && !rest.starts_with("(?:")) {
      return "'(?'";
    }
  }
  return "";
}

Result<Values> regex_full_match(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Strings* x, call.strings(0));
  const std::string pattern = call.attributes.string("pattern", "");
  if (const std::string foreign = foreign_syntax(pattern); !foreign.empty())
    return unsupported(fmt::format("{} in the regular expression '{}'", foreign, pattern));
  std::vector<std::uint8_t> matches;
  try {
    const std::regex expression(pattern, std::regex::ECMAScript);
    for (const std::string& element : x->elements) {
      if (element.size() > longest_string)
        return unsupported(fmt::format("a regular expression on a string of {} bytes, more than {}",
                                       element.size(), longest_string));
      matches.push_back(std::regex_match(element, expression) ? 1 : 0);
    }
  } catch (const std::regex_error& error) {
    return bad_input(fmt::format("the regular expression '{}': {}", pattern, error.what()));
  }
  return Values{Constant::of(DataType::boolean, x->sizes, matches)};
}

constexpr std::array pattern_procedures = {
    ProcedureRecord{"RegexFullMatch", "", 20, "whether strings match a regular expression",
                    regex_full_match},
};

}  // namespace

std::span<const ProcedureRecord> patterns() { return pattern_procedures; }

}  // namespace lemma::procedures
